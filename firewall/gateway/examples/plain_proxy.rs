//! The gateway with checks off, for `tests/benches/gateway.rs`:
//!
//! ```text
//! cargo run --release -p semgate-gateway --features plain-proxy --example plain_proxy -- 127.0.0.1:8080 http://127.0.0.1:9000/l8
//! ```

/// The product's allocator, so that the two differ in the checks alone.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(listen), Some(upstream)) = (arguments.next(), arguments.next()) else {
        return Err("usage: plain_proxy ADDRESS UPSTREAM".into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(semgate_gateway::run_plain(listen.parse()?, &upstream))?;
    Ok(())
}

use super::*;

fn uri(module: &str) -> Pkcs11Uri {
    Pkcs11Uri::parse(&format!("pkcs11:token=a;object=b?module-path={module}&pin-source=env:P")).unwrap()
}

#[test]
fn a_module_that_hangs_while_it_ends_keeps_nobody_from_another_one() {
    let hanging = module_at(Path::new("/nowhere/hangs.so"));
    // what `begin_anew` holds while the module does not come back
    let ending = hanging.lock().unwrap();
    let limit = Duration::from_millis(50);
    let (to, from) = sync_channel(1);
    std::thread::spawn(move || {
        to.send(Device::of(&uri("/nowhere/other.so"), limit).map(drop)).unwrap();
        to.send(Device::of(&uri("/nowhere/hangs.so"), limit).map(drop)).unwrap();
    });
    let patience = Duration::from_secs(30);
    assert_eq!(from.recv_timeout(patience).unwrap(), Ok(()));
    assert_eq!(
        from.recv_timeout(patience).unwrap(),
        Err(DeviceFault::Timeout),
        "its own keys wait for the limit"
    );
    drop(ending);
    assert!(Device::of(&uri("/nowhere/hangs.so"), limit).is_ok());
}

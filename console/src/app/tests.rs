//! Tests of `app`: an act always has an outcome.

use super::*;
use crate::tests::Bed;

fn act() -> Act<'static> {
    Act { by: None, act: "revoke", target: "urn:x", server: "authority", detail: BTreeMap::new() }
}

async fn outcomes(bed: &Bed, wanted: usize) -> Vec<String> {
    for _ in 0..200 {
        if bed.audited().len() >= wanted {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    bed.audited().iter().map(|line| line["outcome"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_act_has_its_outcome_although_the_browser_left() {
    let bed = Bed::new();
    let act = act();
    let sent = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ok(())
    };
    let left = tokio::time::timeout(Duration::from_millis(100), carry_out(&bed.app, &act, sent)).await;
    assert!(left.is_err(), "the request ended first");
    assert_eq!(outcomes(&bed, 2).await, ["intended", "done"]);
}

#[tokio::test]
async fn a_lost_answer_is_recorded_as_unknown() {
    let bed = Bed::new();
    let act_of_test = act();
    let broken = carry_out(&bed.app, &act_of_test, async { panic!("in a test") });
    let broken: Result<(), Undone> = broken.await;
    assert!(matches!(broken, Err(Undone::Fault(CallFault::Lost(_)))));
    let app = Arc::clone(&bed.app);
    let open =
        tokio::spawn(async move { carry_out::<()>(&app, &act(), std::future::pending()).await.is_err() });
    assert_eq!(outcomes(&bed, 3).await.len(), 3);
    bed.app.end_acts().await;
    assert_eq!(outcomes(&bed, 4).await, ["intended", "unknown", "intended", "unknown"]);
    assert!(open.await.unwrap());
}

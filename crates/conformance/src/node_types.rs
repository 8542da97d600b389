//! Node types that workers register.

use rhythm_engine::world::*;
use rhythm_graph::NodeType;
use serde_json::json;

use super::Stage;
use super::play::*;

fn scorer(queue: &str) -> NodeType {
    let text = json!({
        "name": "scorer", "queue": queue, "display_name": "Scorer", "icon": "star", "description": "'; DROP",
        "capabilities": {"supports_retry": true, "a": {"b": [1.5, null]}},
        "config_schema": {"type": "object", "required": ["model"], "properties": {"z": {}, "a": {}}},
    });
    serde_json::from_value(text).unwrap()
}

pub async fn a_node_type_is_kept_as_it_was_put(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let all = async || play.world.node_types(&play.tenant).await.unwrap();
    assert_eq!(all().await, []);
    let other = NodeType { name: "abacus".to_owned(), ..scorer("slow") };
    assert_eq!(play.control(Control::PutNodeType(scorer("models"))).await, Ok(Controlled::Done));
    assert_eq!(play.control(Control::PutNodeType(scorer("models"))).await, Ok(Controlled::Unchanged));
    play.order(Control::PutNodeType(other.clone())).await;
    assert_eq!(all().await, [other.clone(), scorer("models")]);
    assert_eq!(play.control(Control::PutNodeType(scorer("gpu"))).await, Ok(Controlled::Done));
    assert_eq!(all().await, [other.clone(), scorer("gpu")]);
    let remove = || Control::RemoveNodeType { name: "scorer".to_owned() };
    play.order(remove()).await;
    assert_eq!(all().await, [other]);
    assert!(matches!(play.control(remove()).await, Err(WorldError::NotFound(_))));
}

pub async fn a_node_type_belongs_to_its_tenant(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (acme, stranger) = (play.tenant("acme").await, play.tenant("stranger").await);
    acme.order(Control::PutNodeType(scorer("models"))).await;
    assert_eq!(stranger.world.node_types(&stranger.tenant).await.unwrap(), []);
    let remove = Control::RemoveNodeType { name: "scorer".to_owned() };
    assert!(matches!(stranger.control(remove).await, Err(WorldError::NotFound(_))));
    stranger.order(Control::PutNodeType(scorer("their own"))).await;
    assert_eq!(acme.world.node_types(&acme.tenant).await.unwrap(), [scorer("models")]);
}

//! A complete small program: a worker, some tasks, and one task that fails for good.
//!
//!     cargo run -p rhythm --example hello_tasks

#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use rhythm::{Error, Rhythm, TaskContext, TaskError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order {
    customer: String,
    cents: u32,
}

async fn bill(ctx: TaskContext, order: Order) -> Result<String, TaskError> {
    if order.cents == 0 {
        return Err(TaskError::permanent("EMPTY_ORDER", "nothing to bill").with_data(&order.customer));
    }
    // The first attempt loses its connection; the retry succeeds.
    if ctx.attempt() == 1 {
        Err(std::io::Error::other("connection reset"))?;
    }
    Ok(format!("billed {} for {} cents (attempt {})", order.customer, order.cents, ctx.attempt()))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let rhythm = Rhythm::open("sqlite::memory:").await?;
    let worker = rhythm
        .worker()
        .task("bill", bill)
        .blocking_task("sum", |_ctx, numbers: Vec<u64>| Ok::<_, TaskError>(numbers.iter().sum::<u64>()))
        .start()
        .await?;
    let client = rhythm.client();

    let sum = client.enqueue("sum", &[1, 2, 3]).await?;
    println!("sum: {}", client.task_result::<u64>(&sum).await?);

    let paid = client.enqueue("bill", &Order { customer: "Ann".into(), cents: 4_200 }).await?;
    println!("{}", client.task_result::<String>(&paid).await?);

    let empty = client.enqueue("bill", &Order { customer: "Bob".into(), cents: 0 }).await?;
    match client.task_result::<String>(&empty).await {
        Err(Error::Failed(failure)) => println!("Bob's order failed: {failure}"),
        other => println!("unexpected: {other:?}"),
    }
    println!("dead letter: {}", client.dead_letter(&empty).await?.name);
    worker.stop().await
}

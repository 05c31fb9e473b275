//! Lists what is under way: the stage `$currentOp`, and a filter on what it shows.

use lapsedb_service::documents::{self, Aggregate, Fault, Namespace};
use lapsedb_value::{Object, Value, bson};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.only_on_admin()?;
    let mut fields = Fields::of(call);
    fields.own(call);
    let own = fields.truth("$ownOps", false)?;
    let idle = fields.truth("$all", false)?;
    fields.ignore(&["$truncateOps"]);
    let mut options = Object::with_capacity(2);
    options.push("allUsers", !own);
    options.push("idleConnections", idle);
    let mut pipeline = vec![stage("$currentOp", options)];
    // Whatever else is said is a filter.
    let filter = fields.rest();
    if !filter.is_empty() {
        pipeline.push(stage("$match", filter));
    }
    let aggregate = Aggregate {
        pipeline,
        batch_size: Some(usize::MAX),
        single_batch: true,
        terms: documents::Terms::default(),
    };
    let namespace = Namespace::pseudo(&call.database, "$cmd.aggregate");
    let batch = documents::aggregate(&mut call.work(), &namespace, &aggregate).await?;
    let mut listed = Vec::with_capacity(batch.documents.len());
    for document in &batch.documents {
        listed.push(Value::Object(bson::read_document(document)?));
    }
    let mut reply = Object::with_capacity(1);
    reply.push("inprog", Value::Array(listed));
    Ok(Answer::Plain(reply))
}

fn stage(name: &str, value: Object) -> Value {
    let mut stage = Object::with_capacity(1);
    stage.push(name, Value::Object(value));
    Value::Object(stage)
}

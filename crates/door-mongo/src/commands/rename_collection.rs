//! Gives a collection another name.

use lapsedb_service::documents::{self, Fault, Namespace};
use lapsedb_value::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let from = parse(&fields.own(call))?;
    let to = parse(&fields.any("to").unwrap_or_default())?;
    let drop_target = fields.truth("dropTarget", false)?;
    fields.ignore(&["stayTemp"]);
    fields.end()?;
    if call.database != "admin" {
        return Err(Fault::new(
            codes::UNAUTHORIZED,
            "renameCollection may only be run against the admin database.",
        ));
    }
    documents::rename(&mut call.work(), &from, &to, drop_target).await?;
    Ok(Answer::ok())
}

fn parse(name: &Value) -> Result<Namespace, Fault> {
    let name = name.as_str().unwrap_or_default();
    match name.split_once('.') {
        Some((database, collection)) => Namespace::new(database, collection),
        None => Err(Fault::new(
            73,
            format!("Invalid namespace specified '{name}'"),
        )),
    }
}

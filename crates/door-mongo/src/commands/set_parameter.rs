//! Changes a parameter that tests change; none of them has an effect on what is seen.

use lapsedb_service::documents::Fault;
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::get_parameter;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let body = std::mem::take(&mut call.body);
    let mut reply = Object::with_capacity(1);
    for (name, _) in body.iter().skip(1) {
        let was = get_parameter::parameters(call)
            .into_iter()
            .find(|(known, _)| name == known);
        match was {
            Some((_, was)) => reply.insert("was", was),
            None => {
                let message = format!(
                    "attempted to set unrecognized parameter [{name}], use help:true to see options "
                );
                return Err(Fault::new(72, message));
            }
        };
    }
    if reply.is_empty() {
        return Err(Fault::new(
            72,
            "no option found to set, use help:true to see options ",
        ));
    }
    Ok(Answer::Plain(reply))
}

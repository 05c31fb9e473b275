//! Makes commands fail on purpose, for the tests of drivers.

use lapsedb_service::documents::Fault;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    if !call.door.settings.test_commands {
        return Err(Fault::new(
            codes::COMMAND_NOT_FOUND,
            "no such command: 'configureFailPoint'",
        ));
    }
    let mut fields = Fields::of(call);
    let name = fields.own(call);
    let mode = fields.any("mode").unwrap_or_default();
    let data = fields.document("data")?;
    let name = name.as_str().unwrap_or_default();
    call.door.fail_points.configure(name, &mode, &data)?;
    Ok(Answer::ok())
}

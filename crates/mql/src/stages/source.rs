//! Stages that make documents of their own; the service knows what they ask for.

use super::*;

/// What is read instead of a collection.
#[derive(Clone, Debug)]
pub enum Source {
    /// Changes as they happen; the options are the service's to read.
    ChangeStream(Object),
    /// Numbers about the collection.
    CollStats(Object),
    /// Operations that run.
    CurrentOp(Object),
    /// Numbers about the indexes of the collection.
    IndexStats,
    /// Sessions; whether only those of this server.
    ListSessions {
        /// Whether the stage was `$listLocalSessions`.
        local: bool,
        /// Whose sessions.
        options: Object,
    },
    /// Plans that are remembered: there are none.
    PlanCacheStats,
}

pub(super) fn parse(stage: &'static str, spec: &Value, _: &Context<'_>) -> Result<Vec<Stage>> {
    let source = match stage {
        "$collStats" => {
            let message =
                format!("$collStats must take a nested object but found: $collStats: {spec}");
            let object = object_of(5447000, spec, &message)?;
            let known = ["latencyStats", "storageStats", "count", "queryExecStats"];
            if let Some(name) = object.keys().find(|name| !known.contains(&name.as_str())) {
                return Err(unknown_field(stage, name));
            }
            Source::CollStats(object.clone())
        }
        "$indexStats" | "$planCacheStats" => match spec.as_object() {
            Some(object) if object.is_empty() => match stage {
                "$indexStats" => Source::IndexStats,
                _ => Source::PlanCacheStats,
            },
            Some(_) | None => {
                let message = format!("The {stage} stage specification must be an empty object");
                return Err(MqlError::new(28803, message));
            }
        },
        "$changeStream" => {
            let message = "$changeStream stage expects a document as argument";
            Source::ChangeStream(object_of(50808, spec, message)?.clone())
        }
        _ => {
            let message = format!("{stage} options must be specified in an object, but found");
            let options = object_of(9, spec, &message)?.clone();
            match stage {
                "$currentOp" => Source::CurrentOp(options),
                _ => Source::ListSessions {
                    local: stage == "$listLocalSessions",
                    options,
                },
            }
        }
    };
    Ok(vec![Stage::Source(Arc::new(source))])
}

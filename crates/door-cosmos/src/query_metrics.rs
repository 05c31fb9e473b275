//! What a page of a query took, in the words of the wire: two headers, sent to who asks for them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lapsedb_service::items::query::QueryPage;
use lapsedb_value::json;

use crate::answer::Answer;
use crate::headers;

/// Sets the headers that are wanted.
pub(crate) fn set(answer: &mut Answer, page: &QueryPage, with_metrics: bool) {
    if with_metrics {
        answer.set(headers::QUERY_METRICS, &query_text(page));
    }
    if let Some(metrics) = &page.index_metrics {
        let text = json::to_string(metrics);
        answer.set(headers::INDEX_UTILIZATION, &STANDARD.encode(text));
    }
}

/// `name=value` joined by semicolons. What is not measured apart is part of the times that are.
fn query_text(page: &QueryPage) -> String {
    let ms = |time: std::time::Duration| format!("{:.2}", time.as_secs_f64() * 1000.0);
    let running = page.times.total.saturating_sub(page.times.compile);
    let work = &page.work;
    let members = [
        ("totalExecutionTimeInMs", ms(page.times.total)),
        ("queryCompileTimeInMs", ms(page.times.compile)),
        ("queryLogicalPlanBuildTimeInMs", "0.00".to_owned()),
        ("queryPhysicalPlanBuildTimeInMs", "0.00".to_owned()),
        ("queryOptimizationTimeInMs", "0.00".to_owned()),
        ("VMExecutionTimeInMs", ms(running)),
        ("indexLookupTimeInMs", "0.00".to_owned()),
        ("documentLoadTimeInMs", "0.00".to_owned()),
        ("systemFunctionExecuteTimeInMs", "0.00".to_owned()),
        ("userFunctionExecuteTimeInMs", "0.00".to_owned()),
        ("retrievedDocumentCount", work.items_read.to_string()),
        ("retrievedDocumentSize", work.loaded_bytes.to_string()),
        ("outputDocumentCount", work.output_rows.to_string()),
        ("outputDocumentSize", work.returned_bytes.to_string()),
        ("writeOutputTimeInMs", "0.00".to_owned()),
        ("indexUtilizationRatio", format!("{:.2}", page.index_ratio)),
    ];
    let members = members.map(|(name, value)| format!("{name}={value}"));
    members.join(";")
}

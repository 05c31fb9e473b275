//! `docs/support/mongo-language.md` is written from what the crate does with an example of every operator that MongoDB
//! documents. `UPDATE=1` writes it anew (`cargo run -p xtask -- gen` does that); without it, the test fails when it is stale.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use crate::common::{object, value};
use lapsedb_mql::MqlError;
use lapsedb_mql::accumulator_names;
use lapsedb_mql::collation::Collation;
use lapsedb_mql::expressions::Metas;
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_mql::projection::Projection;
use lapsedb_mql::stages::stage_names;
use lapsedb_mql::text::TextSpec;
use lapsedb_mql::update::Update;
use lapsedb_value::Object;

/// Operators of filters, each in a filter.
const FILTERS: &[(&str, &str)] = &[
    ("$eq", r#"{"a":{"$eq":1}}"#),
    ("$ne", r#"{"a":{"$ne":1}}"#),
    ("$gt", r#"{"a":{"$gt":1}}"#),
    ("$gte", r#"{"a":{"$gte":1}}"#),
    ("$lt", r#"{"a":{"$lt":1}}"#),
    ("$lte", r#"{"a":{"$lte":1}}"#),
    ("$in", r#"{"a":{"$in":[1]}}"#),
    ("$nin", r#"{"a":{"$nin":[1]}}"#),
    ("$and", r#"{"$and":[{"a":1}]}"#),
    ("$or", r#"{"$or":[{"a":1}]}"#),
    ("$nor", r#"{"$nor":[{"a":1}]}"#),
    ("$not", r#"{"a":{"$not":{"$gt":1}}}"#),
    ("$exists", r#"{"a":{"$exists":true}}"#),
    ("$type", r#"{"a":{"$type":"string"}}"#),
    ("$regex, $options", r#"{"a":{"$regex":"x","$options":"i"}}"#),
    ("$regex with look-around", r#"{"a":{"$regex":"x(?=y)"}}"#),
    ("$all", r#"{"a":{"$all":[1]}}"#),
    ("$elemMatch", r#"{"a":{"$elemMatch":{"b":1}}}"#),
    ("$size", r#"{"a":{"$size":1}}"#),
    ("$mod", r#"{"a":{"$mod":[2,0]}}"#),
    ("$expr", r#"{"$expr":{"$gt":["$a",1]}}"#),
    ("$comment", r#"{"$comment":"why"}"#),
    ("$jsonSchema", r#"{"$jsonSchema":{"required":["a"]}}"#),
    ("$bitsAllSet", r#"{"a":{"$bitsAllSet":1}}"#),
    ("$bitsAnySet", r#"{"a":{"$bitsAnySet":1}}"#),
    ("$bitsAllClear", r#"{"a":{"$bitsAllClear":1}}"#),
    ("$bitsAnyClear", r#"{"a":{"$bitsAnyClear":1}}"#),
    (
        "$geoWithin",
        r#"{"a":{"$geoWithin":{"$box":[[0,0],[1,1]]}}}"#,
    ),
    (
        "$geoIntersects",
        r#"{"a":{"$geoIntersects":{"$geometry":{"type":"Point","coordinates":[0,0]}}}}"#,
    ),
    ("$sampleRate", r#"{"$sampleRate":0.5}"#),
    ("$rand", r#"{"$expr":{"$lt":[0.5,{"$rand":{}}]}}"#),
    ("$text", r#"{"$text":{"$search":"x"}}"#),
    ("$where", r#"{"$where":"true"}"#),
];

/// Operators of updates, each in an update.
const UPDATES: &[(&str, &str)] = &[
    ("$set", r#"{"$set":{"a":1}}"#),
    ("$unset", r#"{"$unset":{"a":1}}"#),
    ("$inc", r#"{"$inc":{"a":1}}"#),
    ("$mul", r#"{"$mul":{"a":1}}"#),
    ("$min", r#"{"$min":{"a":1}}"#),
    ("$max", r#"{"$max":{"a":1}}"#),
    ("$rename", r#"{"$rename":{"a":"b"}}"#),
    ("$setOnInsert", r#"{"$setOnInsert":{"a":1}}"#),
    ("$currentDate", r#"{"$currentDate":{"a":true}}"#),
    (
        "$push, $each, $position, $slice, $sort",
        r#"{"$push":{"a":{"$each":[1],"$position":0,"$slice":5,"$sort":1}}}"#,
    ),
    ("$addToSet, $each", r#"{"$addToSet":{"a":{"$each":[1]}}}"#),
    ("$pull", r#"{"$pull":{"a":{"$gt":1}}}"#),
    ("$pullAll", r#"{"$pullAll":{"a":[1]}}"#),
    ("$pop", r#"{"$pop":{"a":1}}"#),
    ("$bit", r#"{"$bit":{"a":{"or":1}}}"#),
    ("positional `$`", r#"{"$set":{"a.$":1}}"#),
    ("positional `$[]`", r#"{"$set":{"a.$[]":1}}"#),
    ("replacement", r#"{"a":1}"#),
    (
        "pipeline of $set, $unset, $project, $replaceRoot, $replaceWith",
        r#"[{"$set":{"a":1}},{"$unset":"b"},{"$replaceWith":"$$ROOT"}]"#,
    ),
];

const PROJECTIONS: &[(&str, &str)] = &[
    ("inclusion", r#"{"a":1,"b.c":1}"#),
    ("exclusion", r#"{"a":0,"b.c":0}"#),
    ("expressions", r#"{"a":{"$add":["$b",1]}}"#),
    ("$slice", r#"{"a":{"$slice":[1,2]}}"#),
    ("$elemMatch", r#"{"a":{"$elemMatch":{"b":1}}}"#),
    ("positional `$`", r#"{"a.$":1}"#),
    ("$meta: sortKey", r#"{"a":{"$meta":"sortKey"}}"#),
    ("$meta: textScore", r#"{"a":{"$meta":"textScore"}}"#),
];

const COLLATIONS: &[(&str, &str)] = &[
    ("strength 1 to 5", r#"{"locale":"en","strength":1}"#),
    (
        "caseLevel, caseFirst",
        r#"{"locale":"en","caseLevel":true,"caseFirst":"upper"}"#,
    ),
    (
        "numericOrdering",
        r#"{"locale":"en","numericOrdering":true}"#,
    ),
    (
        "alternate, maxVariable",
        r#"{"locale":"en","alternate":"shifted","maxVariable":"space"}"#,
    ),
    (
        "backwards, normalization",
        r#"{"locale":"fr","backwards":true,"normalization":true}"#,
    ),
    ("an unknown locale", r#"{"locale":"xx"}"#),
];

const STAGES: &str = "$addFields $bucket $bucketAuto $changeStream $collStats $count $currentOp $densify $documents $facet $fill \
    $geoNear $graphLookup $group $indexStats $limit $listLocalSessions $listSessions $lookup $match $merge $out $planCacheStats \
    $project $redact $replaceRoot $replaceWith $sample $search $set $setWindowFields $shardedDataDistribution $skip $sort \
    $sortByCount $unionWith $unset $unwind $vectorSearch";

const ACCUMULATORS: &str = "$accumulator $addToSet $avg $bottom $bottomN $count $first $firstN $last $lastN $max $maxN $median \
    $mergeObjects $min $minN $percentile $push $stdDevPop $stdDevSamp $sum $top $topN";

const EXPRESSIONS: &str = "$abs $acos $acosh $add $allElementsTrue $and $anyElementTrue $arrayElemAt $arrayToObject $asin $asinh \
    $atan $atan2 $atanh $avg $binarySize $bitAnd $bitNot $bitOr $bitXor $bsonSize $ceil $cmp $concat $concatArrays $cond $convert \
    $cos $cosh $dateAdd $dateDiff $dateFromParts $dateFromString $dateSubtract $dateToParts $dateToString $dateTrunc $dayOfMonth \
    $dayOfWeek $dayOfYear $degreesToRadians $divide $eq $exp $filter $first $firstN $floor $function $getField $gt $gte $hour \
    $ifNull $in $indexOfArray $indexOfBytes $indexOfCP $isArray $isNumber $isoDayOfWeek $isoWeek $isoWeekYear $last $lastN $let \
    $literal $ln $log $log10 $lt $lte $ltrim $map $max $maxN $median $mergeObjects $meta $millisecond $min $minN $minute $mod \
    $month $multiply $ne $not $objectToArray $or $percentile $pow $radiansToDegrees $rand $range $reduce $regexFind $regexFindAll \
    $regexMatch $replaceAll $replaceOne $reverseArray $round $rtrim $second $setDifference $setEquals $setField $setIntersection \
    $setIsSubset $setUnion $sin $sinh $size $slice $sortArray $split $sqrt $stdDevPop $stdDevSamp $strLenBytes $strLenCP \
    $strcasecmp $substr $substrBytes $substrCP $subtract $sum $switch $tan $tanh $toBool $toDate $toDecimal $toDouble $toHashedIndexKey $toInt \
    $toLong $toLower $toObjectId $toString $toUpper $trim $trunc $tsIncrement $tsSecond $type $unsetField $week $year $zip";

/// Unknown expressions have this code.
const UNKNOWN_EXPRESSION: i32 = 168;

fn outcome<T>(result: Result<T, MqlError>) -> String {
    match result {
        Ok(_) => "yes".into(),
        Err(error) => format!("no: {}: {}", error.code, error.message),
    }
}

fn table(page: &mut String, heading: &str, rows: impl Iterator<Item = (String, String)>) {
    write!(page, "\n## {heading}\n\n| what | works |\n|---|---|\n").unwrap();
    for (what, works) in rows {
        writeln!(page, "| {what} | {works} |").unwrap();
    }
}

fn examples<T>(
    cases: &'static [(&str, &str)],
    parse: impl Fn(&str) -> Result<T, MqlError>,
) -> impl Iterator<Item = (String, String)> {
    cases
        .iter()
        .map(move |(what, example)| (what.to_string(), outcome(parse(example))))
}

fn names(all: &str, known: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    all.split_whitespace().map(move |name| {
        let works = if known(name) { "yes" } else { "no" };
        (name.to_owned(), works.to_owned())
    })
}

fn page() -> String {
    // As behind a `$text` of a collection that has a text index.
    let options = Options {
        text: Some(Arc::new(TextSpec::of_options(&Object::new()))),
        metas: Metas {
            text_score: true,
            distance: true,
        },
        ..Options::default()
    };
    let mut page = String::from(
        "# The language of MongoDB: what works\n\nWritten by `cargo run -p xtask -- gen` from what `crates/mql` does with an example \
         of each; a test fails when it is stale.\n\nCollations order text as the root collation does, Latin letters with their \
         accents, for every locale: the rules of single languages beyond that are not known. Patterns run in time linear in \
         the text; those with look-around or back references give up after a million steps and then do not match. There is no \
         JavaScript.\n\n`$text` needs a text index (27). English words are reduced to their stems and its stop words left out, with \
         the same scores as in MongoDB; words of the other languages that an index may name, and of `none`, are compared by their letters \
         alone, without case and accents. Asked with a `$language` that has no stems here, an English index is asked with its own stems, \
         too. `$near` and `$nearSphere` sort by distance and need a `2dsphere` or `2d` index (291), and so does \
         `$geoNear` (27); `$geoWithin` and `$geoIntersects` need none, but use it.\n",
    );
    table(
        &mut page,
        "Filters",
        examples(FILTERS, |text| Filter::parse(&object(text), &options)),
    );
    table(
        &mut page,
        "Updates",
        examples(UPDATES, |text| Update::parse(&value(text), &[], &options)),
    );
    table(
        &mut page,
        "Projections of find",
        examples(PROJECTIONS, |text| {
            Projection::parse(&object(text), &options)
        }),
    );
    table(
        &mut page,
        "Collations",
        examples(COLLATIONS, |text| Collation::parse(&object(text))),
    );
    table(
        &mut page,
        "Stages",
        names(STAGES, |name| stage_names().any(|known| known == name)),
    );
    table(
        &mut page,
        "Accumulators of $group",
        names(ACCUMULATORS, |name| {
            accumulator_names().any(|known| known == name)
        }),
    );
    let known = |name: &str| {
        let filter = object(&format!(r#"{{"$expr":{{"{name}":1}}}}"#));
        Filter::parse(&filter, &options)
            .map_or_else(|error| error.code != UNKNOWN_EXPRESSION, |_| true)
    };
    table(&mut page, "Expressions", names(EXPRESSIONS, known));
    page
}

#[test]
fn the_page_says_what_the_crate_does() {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let path = Path::new(&package).join("../../docs/support/mongo-language.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/support/mongo-language.md is stale: cargo run -p xtask -- gen"
    );
}

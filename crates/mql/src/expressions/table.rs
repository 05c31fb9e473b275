//! The operators of expressions, one line each.

use super::form::Form;
use super::{
    arithmetic, array, boolean, comparison, conditional, data, date, object, set, string,
    trigonometry, types, variable,
};

/// Sorted by name, so that a search halves it.
const OPERATORS: &[(&str, Form)] = &[
    ("$abs", arithmetic::abs::FORM),
    ("$acos", trigonometry::acos::FORM),
    ("$acosh", trigonometry::acosh::FORM),
    ("$add", arithmetic::add::FORM),
    ("$allElementsTrue", set::all_elements_true::FORM),
    ("$and", boolean::and::FORM),
    ("$anyElementTrue", set::any_element_true::FORM),
    ("$arrayElemAt", array::array_elem_at::FORM),
    ("$arrayToObject", array::array_to_object::FORM),
    ("$asin", trigonometry::asin::FORM),
    ("$asinh", trigonometry::asinh::FORM),
    ("$atan", trigonometry::atan::FORM),
    ("$atan2", trigonometry::atan2::FORM),
    ("$atanh", trigonometry::atanh::FORM),
    ("$avg", data::avg::FORM),
    ("$binarySize", data::binary_size::FORM),
    ("$bitAnd", arithmetic::bit_and::FORM),
    ("$bitNot", arithmetic::bit_not::FORM),
    ("$bitOr", arithmetic::bit_or::FORM),
    ("$bitXor", arithmetic::bit_xor::FORM),
    ("$bsonSize", data::bson_size::FORM),
    ("$ceil", arithmetic::ceil::FORM),
    ("$cmp", comparison::cmp::FORM),
    ("$concat", string::concat::FORM),
    ("$concatArrays", array::concat_arrays::FORM),
    ("$cond", conditional::cond::FORM),
    ("$const", variable::literal::FORM),
    ("$convert", types::convert::FORM),
    ("$cos", trigonometry::cos::FORM),
    ("$cosh", trigonometry::cosh::FORM),
    ("$dateAdd", date::date_add::FORM),
    ("$dateDiff", date::date_diff::FORM),
    ("$dateFromParts", date::date_from_parts::FORM),
    ("$dateFromString", date::date_from_string::FORM),
    ("$dateSubtract", date::date_subtract::FORM),
    ("$dateToParts", date::date_to_parts::FORM),
    ("$dateToString", date::date_to_string::FORM),
    ("$dateTrunc", date::date_trunc::FORM),
    ("$dayOfMonth", date::day_of_month::FORM),
    ("$dayOfWeek", date::day_of_week::FORM),
    ("$dayOfYear", date::day_of_year::FORM),
    ("$degreesToRadians", trigonometry::degrees_to_radians::FORM),
    ("$divide", arithmetic::divide::FORM),
    ("$eq", comparison::eq::FORM),
    ("$exp", arithmetic::exp::FORM),
    ("$filter", array::filter::FORM),
    ("$first", array::first::FORM),
    ("$firstN", array::first_n::FORM),
    ("$floor", arithmetic::floor::FORM),
    ("$getField", object::get_field::FORM),
    ("$gt", comparison::gt::FORM),
    ("$gte", comparison::gte::FORM),
    ("$hour", date::hour::FORM),
    ("$ifNull", conditional::if_null::FORM),
    ("$in", array::in_array::FORM),
    ("$indexOfArray", array::index_of_array::FORM),
    ("$indexOfBytes", string::index_of_bytes::FORM),
    ("$indexOfCP", string::index_of_cp::FORM),
    ("$isArray", array::is_array::FORM),
    ("$isNumber", types::is_number::FORM),
    ("$isoDayOfWeek", date::iso_day_of_week::FORM),
    ("$isoWeek", date::iso_week::FORM),
    ("$isoWeekYear", date::iso_week_year::FORM),
    ("$last", array::last::FORM),
    ("$lastN", array::last_n::FORM),
    ("$let", variable::let_in::FORM),
    ("$literal", variable::literal::FORM),
    ("$ln", arithmetic::ln::FORM),
    ("$log", arithmetic::log::FORM),
    ("$log10", arithmetic::log10::FORM),
    ("$lt", comparison::lt::FORM),
    ("$lte", comparison::lte::FORM),
    ("$ltrim", string::ltrim::FORM),
    ("$map", array::map::FORM),
    ("$max", data::max::FORM),
    ("$maxN", array::max_n::FORM),
    ("$median", data::median::FORM),
    ("$mergeObjects", object::merge_objects::FORM),
    ("$meta", variable::meta::FORM),
    ("$millisecond", date::millisecond::FORM),
    ("$min", data::min::FORM),
    ("$minN", array::min_n::FORM),
    ("$minute", date::minute::FORM),
    ("$mod", arithmetic::modulo::FORM),
    ("$month", date::month::FORM),
    ("$multiply", arithmetic::multiply::FORM),
    ("$ne", comparison::ne::FORM),
    ("$not", boolean::not::FORM),
    ("$objectToArray", object::object_to_array::FORM),
    ("$or", boolean::or::FORM),
    ("$percentile", data::percentile::FORM),
    ("$pow", arithmetic::pow::FORM),
    ("$radiansToDegrees", trigonometry::radians_to_degrees::FORM),
    ("$rand", data::rand::FORM),
    ("$range", array::range::FORM),
    ("$reduce", array::reduce::FORM),
    ("$regexFind", string::regex_find::FORM),
    ("$regexFindAll", string::regex_find_all::FORM),
    ("$regexMatch", string::regex_match::FORM),
    ("$replaceAll", string::replace_all::FORM),
    ("$replaceOne", string::replace_one::FORM),
    ("$reverseArray", array::reverse_array::FORM),
    ("$round", arithmetic::round::FORM),
    ("$rtrim", string::rtrim::FORM),
    ("$second", date::second::FORM),
    ("$setDifference", set::set_difference::FORM),
    ("$setEquals", set::set_equals::FORM),
    ("$setField", object::set_field::FORM),
    ("$setIntersection", set::set_intersection::FORM),
    ("$setIsSubset", set::set_is_subset::FORM),
    ("$setUnion", set::set_union::FORM),
    ("$sin", trigonometry::sin::FORM),
    ("$sinh", trigonometry::sinh::FORM),
    ("$size", array::size::FORM),
    ("$slice", array::slice::FORM),
    ("$sortArray", array::sort_array::FORM),
    ("$split", string::split::FORM),
    ("$sqrt", arithmetic::sqrt::FORM),
    ("$stdDevPop", data::std_dev_pop::FORM),
    ("$stdDevSamp", data::std_dev_samp::FORM),
    ("$strLenBytes", string::str_len_bytes::FORM),
    ("$strLenCP", string::str_len_cp::FORM),
    ("$strcasecmp", string::strcasecmp::FORM),
    ("$substr", string::substr_bytes::FORM),
    ("$substrBytes", string::substr_bytes::FORM),
    ("$substrCP", string::substr_cp::FORM),
    ("$subtract", arithmetic::subtract::FORM),
    ("$sum", data::sum::FORM),
    ("$switch", conditional::switch::FORM),
    ("$tan", trigonometry::tan::FORM),
    ("$tanh", trigonometry::tanh::FORM),
    ("$toBool", types::to_bool::FORM),
    ("$toDate", types::to_date::FORM),
    ("$toDecimal", types::to_decimal::FORM),
    ("$toDouble", types::to_double::FORM),
    ("$toHashedIndexKey", types::to_hashed_index_key::FORM),
    ("$toInt", types::to_int::FORM),
    ("$toLong", types::to_long::FORM),
    ("$toLower", string::to_lower::FORM),
    ("$toObjectId", types::to_object_id::FORM),
    ("$toString", types::to_string::FORM),
    ("$toUUID", types::to_uuid::FORM),
    ("$toUpper", string::to_upper::FORM),
    ("$trim", string::trim::FORM),
    ("$trunc", arithmetic::trunc::FORM),
    ("$tsIncrement", data::ts_increment::FORM),
    ("$tsSecond", data::ts_second::FORM),
    ("$type", types::type_of::FORM),
    ("$unsetField", object::unset_field::FORM),
    ("$week", date::week::FORM),
    ("$year", date::year::FORM),
    ("$zip", array::zip::FORM),
];

/// The operator of that name.
pub(super) fn find(name: &str) -> Option<(&'static str, Form)> {
    let at = OPERATORS.binary_search_by(|(known, _)| (*known).cmp(name));
    at.ok().and_then(|at| OPERATORS.get(at)).copied()
}

/// Whether there is an operator of that name.
pub(crate) fn is_operator(name: &str) -> bool {
    find(name).is_some()
}

/// The names of all operators, in order.
pub fn operator_names() -> impl Iterator<Item = &'static str> {
    OPERATORS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_line_is_found() {
        let names: Vec<_> = OPERATORS.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted());
        for name in names {
            assert_eq!(find(name).map(|(found, _)| found), Some(name));
        }
    }
}

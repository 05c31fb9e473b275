//! Cells: squares that halve a rectangle again and again. An index holds places by their cells, and a question by the cells it covers.
//!
//! A cell is one number: the bits of its place, in turn from both axes, then a one, then zeros. So the cells inside another one are a range
//! of numbers, and those around it are found by moving the one to the left.

use super::shape::Point;

/// How often a cell is halved at most: some metres at the equator are one cell.
const LEVELS: u32 = 25;
/// Cells that a shape is held by at most.
const SHAPE_CELLS_MAX: u64 = 16;
/// Cells that a question is read by at most.
const QUESTION_CELLS_MAX: u64 = 64;

/// The rectangle that cells divide.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    low: Point,
    high: Point,
}

/// A part of it, borders included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rect {
    pub(crate) low: Point,
    pub(crate) high: Point,
}

impl std::fmt::Display for Grid {
    /// The bounds of its first axis, which are those of both in a plane.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[ {}, {} ]", self.low.x, self.high.x)
    }
}

impl Grid {
    /// Longitude and latitude.
    pub const SPHERE: Grid = Grid {
        low: Point {
            x: -180.0,
            y: -90.0,
        },
        high: Point { x: 180.0, y: 90.0 },
    };

    /// A plane between two numbers on both axes.
    pub fn plane(min: f64, max: f64) -> Grid {
        Grid {
            low: Point { x: min, y: min },
            high: Point { x: max, y: max },
        }
    }

    /// Whether the point lies in it.
    pub(crate) fn contains(&self, point: Point) -> bool {
        (self.low.x..=self.high.x).contains(&point.x)
            && (self.low.y..=self.high.y).contains(&point.y)
    }

    /// The cell of a point.
    pub(super) fn cell(&self, point: Point) -> i64 {
        let (column, row) = self.place(point, LEVELS);
        number(column, row, LEVELS)
    }

    /// The cells that a shape within these rectangles is held by.
    pub(super) fn shape_cells(&self, rects: &[Rect]) -> Vec<i64> {
        let mut cells: Vec<i64> = Vec::new();
        for rect in rects {
            let (level, columns, rows) = self.span(rect, SHAPE_CELLS_MAX);
            cells.extend(all(columns, rows).map(|(column, row)| number(column, row, level)));
        }
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// The ranges of cells, both ends inclusive, that hold whatever touches these rectangles.
    pub(super) fn ranges(&self, rects: &[Rect]) -> Vec<(i64, i64)> {
        let mut ranges = Vec::new();
        for rect in rects {
            let (level, columns, rows) = self.span(rect, QUESTION_CELLS_MAX);
            for (column, row) in all(columns, rows) {
                let cell = number(column, row, level);
                let inside = (1i64 << (2 * (LEVELS - level))) - 1;
                ranges.push((cell - inside, cell + inside));
                // Larger cells around it may hold what reaches into it.
                for above in 0..level {
                    let shift = level - above;
                    let around = number(column >> shift, row >> shift, above);
                    ranges.push((around, around));
                }
            }
        }
        merged(ranges)
    }

    /// The finest level at which a rectangle has no more than so many cells, and those of both axes.
    fn span(&self, rect: &Rect, cells_max: u64) -> (u32, (u64, u64), (u64, u64)) {
        let mut best = (0, (0, 0), (0, 0));
        for level in 0..=LEVELS {
            let (left, bottom) = self.place(rect.low, level);
            let (right, top) = self.place(rect.high, level);
            if (right - left + 1).saturating_mul(top - bottom + 1) > cells_max {
                break;
            }
            best = (level, (left, right), (bottom, top));
        }
        best
    }

    /// The column and the row of a point; what lies outside counts as the border.
    fn place(&self, point: Point, level: u32) -> (u64, u64) {
        let cells = (1u64 << level) as f64;
        let along = |value: f64, low: f64, high: f64| {
            let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
            ((share * cells) as u64).min((1u64 << level) - 1)
        };
        (
            along(point.x, self.low.x, self.high.x),
            along(point.y, self.low.y, self.high.y),
        )
    }
}

fn all((left, right): (u64, u64), (bottom, top): (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    (left..=right).flat_map(move |column| (bottom..=top).map(move |row| (column, row)))
}

fn number(column: u64, row: u64, level: u32) -> i64 {
    let mut bits = 0u64;
    for bit in (0..level).rev() {
        bits = bits << 2 | (column >> bit & 1) << 1 | row >> bit & 1;
    }
    let rest = 2 * (LEVELS - level);
    ((bits << 1 | 1) << rest) as i64
}

/// The same ranges in order, each number once.
fn merged(mut ranges: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    ranges.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match merged.last_mut() {
            Some((_, end)) if low <= *end => *end = high.max(*end),
            _ => merged.push((low, high)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(low: (f64, f64), high: (f64, f64)) -> Rect {
        Rect {
            low: Point { x: low.0, y: low.1 },
            high: Point {
                x: high.0,
                y: high.1,
            },
        }
    }

    fn holds(ranges: &[(i64, i64)], cell: i64) -> bool {
        ranges
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&cell))
    }

    #[test]
    fn a_question_reads_the_cells_of_what_it_touches() {
        let grid = Grid::SPHERE;
        let asked = rect((10.0, 10.0), (10.5, 10.4));
        let ranges = grid.ranges(&[asked]);
        for (x, y) in [(10.0, 10.0), (10.5, 10.4), (10.2, 10.1)] {
            assert!(holds(&ranges, grid.cell(Point { x, y })), "{x} {y}");
        }
        assert!(!holds(&ranges, grid.cell(Point { x: 60.0, y: 10.0 })));
        for shape in [
            rect((0.0, 0.0), (10.0, 10.0)),
            rect((-180.0, -90.0), (180.0, 90.0)),
            rect((10.3, 10.3), (10.3, 10.3)),
        ] {
            let cells = grid.shape_cells(&[shape]);
            assert!(
                cells.len() <= 16 && cells.iter().any(|cell| holds(&ranges, *cell)),
                "{shape:?}"
            );
        }
    }

    #[test]
    fn borders_belong_to_the_last_cells() {
        let grid = Grid::plane(0.0, 1.0);
        let corner = grid.cell(Point { x: 1.0, y: 1.0 });
        assert!(holds(&grid.ranges(&[rect((0.9, 0.9), (1.0, 1.0))]), corner));
        assert!(corner < 1 << 52, "a double holds it exactly");
    }
}

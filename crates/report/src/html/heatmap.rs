//! How often which response time was, as shades behind the curves: a path for each degree, in units of columns and rows.

use std::fmt::Write as _;

use crate::analysis::LatencyHeatmap;

use super::axis::PlotAxis;
use super::plot::PlotFrame;

/// Degrees of shade.
const DEGREES: usize = 8;

/// The shades of a plot.
#[derive(Clone, Debug)]
pub(super) struct HeatmapLayer {
    /// Length of a column, in the unit of x.
    column_s: f64,
    /// Lower edge of the lowest row, seconds.
    pub(super) low_s: f64,
    /// Each row's upper edge by its lower one.
    factor: f64,
    /// How many rows.
    rows: usize,
    /// A path for each degree, from the faintest.
    paths: Vec<String>,
}

impl HeatmapLayer {
    /// The degree grows with the logarithm of the number of events: a single slow one is seen.
    pub(super) fn from_heat(heat: &LatencyHeatmap) -> HeatmapLayer {
        let most = heat.cells.iter().map(|c| c.2).max().unwrap_or(1).max(2) as f64;
        let degree = |events: u64| {
            let share = (events as f64).ln() / most.ln();
            ((share * DEGREES as f64) as usize).min(DEGREES - 1)
        };
        let mut cells: Vec<(usize, usize, usize)> =
            heat.cells.iter().map(|(column, row, n)| (*row, *column, degree(*n))).collect();
        cells.sort_unstable();
        let mut paths = vec![String::new(); DEGREES];
        let mut rest = &cells[..];
        while let Some((row, column, degree)) = rest.first() {
            // Neighbours of one degree are one stretch.
            let same =
                |(n, cell): &(usize, &(usize, usize, usize))| **cell == (*row, column + n, *degree);
            let long = rest.iter().enumerate().take_while(same).count();
            let _ = write!(paths[*degree], "M{column} {row}h{long}v1h-{long}z");
            rest = &rest[long..];
        }
        let LatencyHeatmap { column_s, low_s, factor, rows, .. } = *heat;
        HeatmapLayer { column_s, low_s, factor, rows, paths }
    }

    /// Upper edge of the highest row, seconds.
    pub(super) fn high_s(&self) -> f64 {
        self.low_s * self.factor.powi(self.rows as i32)
    }

    pub(super) fn to_svg(&self, frame: &PlotFrame, x: &PlotAxis, y: &PlotAxis) -> String {
        let from = frame.x_position(x, 0.0);
        let column = frame.inner_width() * self.column_s / (x.high - x.low);
        let (low, high) = (frame.y_position(y, self.low_s), frame.y_position(y, self.high_s()));
        let mut svg = format!(
            "<g class=\"shades\" transform=\"translate({from:.2} {low:.2}) \
             scale({column:.4} {:.4})\" fill=\"#5c5c5c\" shape-rendering=\"crispEdges\">",
            (high - low) / self.rows.max(1) as f64
        );
        for (degree, path) in self.paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            let opacity = 0.07 + 0.58 * degree as f64 / (DEGREES - 1) as f64;
            let _ = write!(svg, "<path fill-opacity=\"{opacity:.2}\" d=\"{path}\"/>");
        }
        svg + "</g>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_degree_are_one_stretch() {
        let cells = vec![(0, 0, 1), (0, 1, 4096), (1, 1, 4096), (2, 1, 4096), (3, 0, 2)];
        let heat = LatencyHeatmap { column_s: 1.0, low_s: 1e-3, factor: 10.0, rows: 2, cells };
        let shades = HeatmapLayer::from_heat(&heat);
        assert_eq!(shades.paths[DEGREES - 1], "M0 1h3v1h-3z");
        assert_eq!(shades.paths[0], "M0 0h1v1h-1zM3 0h1v1h-1z");
        assert!((shades.high_s() - 0.1).abs() < 1e-12);
        let nothing = HeatmapLayer::from_heat(&LatencyHeatmap::default());
        assert!(nothing.paths.iter().all(String::is_empty));
    }
}

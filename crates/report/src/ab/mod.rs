//! The block that ab prints, for scripts that read it. Pure functions over plain data.
//! Never knows: how numbers were made, where a text goes.

mod run_block;

use crate::analysis::{ExchangeTable, ExchangeTotals};
pub(super) use run_block::FORMAT;

/// What the block says of the request.
#[derive(Clone, Debug, Default)]
pub struct AbRequest {
    /// The field `Server` of the first reply.
    pub server: String,
    /// Host of the URL.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Version and cipher of TLS.
    pub tls: Option<String>,
    /// Path of the URL.
    pub path: String,
    /// Length of the first body; `None` where lengths may differ.
    pub document_bytes: Option<u64>,
    /// Requests at once.
    pub concurrency: usize,
    /// Mean time of a request, milliseconds, where not all that were allowed were always under way.
    pub mean_ms: Option<f64>,
    /// Whether connections are kept.
    pub keeps_alive: bool,
    /// Bytes sent in all, where requests have a body.
    pub body_sent: Option<u64>,
    /// Leave out the percentages.
    pub no_percentages: bool,
    /// Leave out median and deviation.
    pub no_deviation: bool,
}

/// What the table of percentages shows.
const PERCENTAGES: [usize; 9] = [50, 66, 75, 80, 90, 95, 98, 99, 100];
/// Names of the rows.
const PARTS: [&str; 4] = ["Connect:", "Processing:", "Waiting:", "Total:"];

/// The whole block.
pub fn block_text(request: &AbRequest, totals: &ExchangeTotals, table: &ExchangeTable) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text += &format!("{name:<24}{value}\n");
    line("Server Software:", request.server.clone());
    line("Server Hostname:", request.host.clone());
    line("Server Port:", request.port.to_string());
    if let Some(tls) = &request.tls {
        line("SSL/TLS Protocol:", tls.clone());
    }
    text += "\n";
    let mut line = |name: &str, value: String| text += &format!("{name:<24}{value}\n");
    line("Document Path:", request.path.clone());
    let length = request.document_bytes.map(|bytes| format!("{bytes} bytes"));
    line("Document Length:", length.unwrap_or_else(|| "Variable".to_owned()));
    text += "\n";
    text += &counts_text(request, totals);
    text += &rates_text(request, totals);
    if totals.replied > 0 {
        text += &times_text(request, table);
    }
    if totals.replied > 1 && !request.no_percentages {
        text += "\nPercentage of the requests served within a certain time (ms)\n";
        for percent in PERCENTAGES {
            let ms = whole_ms(percentile(&table.totals_ms, percent));
            text += &match percent {
                100 => format!(" 100%  {ms:5} (longest request)\n"),
                _ => format!("  {percent}%  {ms:5}\n"),
            };
        }
    }
    text
}

fn counts_text(request: &AbRequest, totals: &ExchangeTotals) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text += &format!("{name:<24}{value}\n");
    let failed = totals.failed();
    line("Concurrency Level:", request.concurrency.to_string());
    line("Time taken for tests:", format!("{:.3} seconds", totals.seconds));
    line("Complete requests:", totals.replied.to_string());
    line("Failed requests:", failed.to_string());
    if failed > 0 {
        let ExchangeTotals { unconnected, broken, timed_out, bad_sizes, bad_sums, .. } = totals;
        let (lengths, received) = (bad_sizes + bad_sums, broken + timed_out);
        text += &format!(
            "   (Connect: {unconnected}, Receive: {received}, Length: {lengths}, Exceptions: 0)\n"
        );
    }
    let mut line = |name: &str, value: String| text += &format!("{name:<24}{value}\n");
    let good: u64 = totals.statuses.range(200..300).map(|(_, count)| count).sum();
    if totals.replied > good {
        line("Non-2xx responses:", (totals.replied - good).to_string());
    }
    if request.keeps_alive {
        line("Keep-Alive requests:", totals.kept_alive.to_string());
    }
    line("Total transferred:", format!("{} bytes", totals.received));
    if let Some(sent) = request.body_sent {
        line("Total body sent:", sent.to_string());
    }
    line("HTML transferred:", format!("{} bytes", totals.body_bytes));
    text
}

fn rates_text(request: &AbRequest, totals: &ExchangeTotals) -> String {
    let (seconds, done) = (totals.seconds, totals.replied as f64);
    if seconds <= 0.0 || totals.replied == 0 {
        return String::new();
    }
    let each = seconds * 1000.0 / done;
    let kbytes = |bytes: u64| bytes as f64 / 1024.0 / seconds;
    let mut text = format!(
        "Requests per second:    {:.2} [#/sec] (mean)\n\
         Time per request:       {:.3} [ms] (mean)\n\
         Time per request:       {each:.3} [ms] (mean, across all concurrent requests)\n\
         Transfer rate:          {:.2} [Kbytes/sec] received\n",
        done / seconds,
        request.mean_ms.unwrap_or(each * request.concurrency as f64),
        kbytes(totals.received)
    );
    if let Some(sent) = request.body_sent {
        let [sent, all] = [kbytes(sent), kbytes(sent + totals.received)];
        text += &format!("{:24}{sent:.2} kb/s sent\n{:24}{all:.2} kb/s total\n", "", "");
    }
    text
}

fn times_text(request: &AbRequest, table: &ExchangeTable) -> String {
    let mut text = "\nConnection Times (ms)\n".to_owned();
    text += match request.no_deviation {
        true => "              min   avg   max\n",
        false => "              min  mean[+/-sd] median   max\n",
    };
    for (name, row) in PARTS.iter().zip(&table.rows) {
        let [least, mean, median, most] =
            [row.least_ms, row.mean_ms, row.median_ms, row.most_ms].map(whole_ms);
        text += &match request.no_deviation {
            true => format!("{name:<11} {least:5} {mean:5} {most:5}\n"),
            false => {
                let deviation = row.deviation_ms;
                format!("{name:<11} {least:5} {mean:4} {deviation:5.1} {median:6} {most:7}\n")
            }
        };
    }
    text
}

/// As ab takes it: the time at this share of the list.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or(0.0)
}

fn whole_ms(ms: f64) -> u64 {
    (ms + 0.5) as u64
}

/// `-e`: a line for each percentage.
pub fn percentages_csv(table: &ExchangeTable) -> String {
    let mut text = "Percentage served,Time in ms\n".to_owned();
    for percent in 0..=100 {
        let ms = match percent {
            0 => table.totals_ms.first().copied().unwrap_or(0.0),
            percent => percentile(&table.totals_ms, percent),
        };
        text += &format!("{percent},{ms:.3}\n");
    }
    text
}

/// `-g`: a line for each exchange, `utc` gives the time of day.
pub fn gnuplot_text(table: &ExchangeTable, utc: impl Fn(u64) -> String) -> String {
    let mut text = "starttime\tseconds\tctime\tdtime\tttime\twait\n".to_owned();
    for (second, ms) in &table.exchanges {
        let [connect, processing, wait, total] = ms.map(whole_ms);
        let day = utc(*second);
        text += &format!("{day}\t{second}\t{connect}\t{processing}\t{total}\t{wait}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ExchangeTimes;

    fn request() -> AbRequest {
        AbRequest {
            server: "nginx/1.22.1".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 8080,
            path: "/small".to_owned(),
            document_bytes: Some(1024),
            concurrency: 8,
            keeps_alive: true,
            ..AbRequest::default()
        }
    }

    fn totals() -> ExchangeTotals {
        ExchangeTotals {
            ended: 4,
            replied: 3,
            seconds: 0.5,
            received: 3072,
            body_bytes: 3000,
            statuses: [(200, 2), (500, 1)].into(),
            kept_alive: 2,
            broken: 1,
            ..ExchangeTotals::default()
        }
    }

    #[test]
    fn the_block_is_that_of_ab() {
        let row = ExchangeTimes {
            least_ms: 0.2,
            mean_ms: 1.6,
            deviation_ms: 0.34,
            median_ms: 1.4,
            most_ms: 12.0,
        };
        let table = ExchangeTable {
            rows: [row; 4],
            totals_ms: vec![0.2, 1.4, 12.0],
            exchanges: vec![(7, [0.6, 1.0, 1.0, 1.6])],
        };
        let text = block_text(&request(), &totals(), &table);
        let expected = "\
Server Software:        nginx/1.22.1
Server Hostname:        127.0.0.1
Server Port:            8080

Document Path:          /small
Document Length:        1024 bytes

Concurrency Level:      8
Time taken for tests:   0.500 seconds
Complete requests:      3
Failed requests:        1
   (Connect: 0, Receive: 1, Length: 0, Exceptions: 0)
Non-2xx responses:      1
Keep-Alive requests:    2
Total transferred:      3072 bytes
HTML transferred:       3000 bytes
Requests per second:    6.00 [#/sec] (mean)
Time per request:       1333.333 [ms] (mean)
Time per request:       166.667 [ms] (mean, across all concurrent requests)
Transfer rate:          6.00 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    2   0.3      1      12
Processing:     0    2   0.3      1      12
Waiting:        0    2   0.3      1      12
Total:          0    2   0.3      1      12

Percentage of the requests served within a certain time (ms)
  50%      1
  66%      1
  75%     12
  80%     12
  90%     12
  95%     12
  98%     12
  99%     12
 100%     12 (longest request)
";
        assert_eq!(text, expected);
        assert!(percentages_csv(&table).ends_with("\n99,12.000\n100,12.000\n"));
        let lines = gnuplot_text(&table, |_| "day".to_owned());
        assert_eq!(lines.lines().nth(1), Some("day\t7\t1\t1\t2\t1"));
    }
}

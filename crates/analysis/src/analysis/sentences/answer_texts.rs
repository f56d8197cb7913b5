//! The sentences of answers, by what they answer. The second text of a row is what is left of it where the run can't
//! support it: what was seen, without what follows from it. A row that claims nothing has none; an empty one says that
//! nothing is left.

use super::SentenceTemplate;

/// A constant for each row, and the list of all of them.
macro_rules! answers {
    ($($name:ident, $when:literal, $text:literal $(, void $if_void:literal)?;)*) => {
        $(pub(in super::super) const $name: SentenceTemplate = SentenceTemplate {
            id: stringify!($name),
            when: $when,
            text: $text,
            if_void: answers!(@void $text $(, $if_void)?),
        };)*
        #[cfg(test)]
        pub(super) const ALL: &[&SentenceTemplate] = &[$(&$name),*];
    };
    (@void $text:literal) => { $text };
    (@void $text:literal, $if_void:literal) => { $if_void };
}

answers! {
    // One load, or several that nothing is known to connect.
    CRASHES, "a server was killed under loads, and what came back was looked at",
        "{kills}.";
    LOADS_LOST, "loads ran, and the run folder has none of them any more",
        "No load can be read: files of the run folder are missing or damaged.";
    NOTHING, "no load and no warming",
        "Nothing was measured.";
    LOAD, "a load in which events ended well",
        "{load}{rate} events/s over {time} ({events} of {workload}, {workers}, {arrival}): \
         response time{at_least} {response}; {errors}{unbegun}{under_way}.";
    LOAD_EMPTY, "a load in which no event ended",
        "{load}no event ended in {time}{under_way}.";
    LOAD_FAILED, "a load in which no event ended well",
        "{load}no event ended well, {failed} failed in {time}{under_way}.";
    STEADY, "a single load long enough to tell whether it was steady",
        "It was {steady}.",
        void "";
    DATABASE, "a single load of an application whose database was looked at",
        "Each event cost the database {costs}.";
    DATABASE_IDLE, "a single load of an application whose database had no statements",
        "No statement of these events reached the database.";
    STALLS, "a load that stood still now and then",
        "{load}{stalls}.{hidden}";
    WARMED, "a pool was warmed and no load ran",
        "Warmed by `{strategy}` in {time}: {bytes} read, {after} in the pool (before: {before}).";

    // Ways to warm.
    WARM_READS, "the best way to warm saved a tenth of the page reads or more",
        "A warm buffer pool saves {share} of the page reads here: the first {work} read {cold} \
         cold and {reads} after `{variant}`, which warmed for {warm}.",
        void "the first {work} read {cold} cold and {reads} after `{variant}`, which warmed for \
         {warm}.";
    WARM_READS_FEW, "no way to warm saved a tenth of the page reads",
        "Warming saved few page reads or none here: the first {work} read {cold} cold and {reads} \
         after `{variant}`, which warmed for {warm}.",
        void "the first {work} read {cold} cold and {reads} after `{variant}`, which warmed for \
         {warm}.";
    WARM_OTHERS, "several ways to warm",
        "The other variants: {variants}.";
    WARM_TIMES, "the seconds of the cold run and of the best variant can be told apart",
        "In time: {cold_s} cold, {took} after `{variant}` ({times}){spread}.",
        void "In time: {cold_s} cold, {took} after `{variant}`{spread}.";
    WARM_TIMES_BLIND, "the seconds of the cold run and of the best variant can't be told apart",
        "Seconds can't tell on this machine whether that is faster: {cold_s} cold, {took} after \
         `{variant}`{spread}.",
        void "In time: {cold_s} cold, {took} after `{variant}`{spread}.";
    WARM_TIMES_CLOSE, "the seconds of the best variant and of others can't be told apart",
        "Seconds can't tell `{variant}` from {others} on this machine.";
    WARM_PAYS, "warming and the first run together took less time than the cold run",
        "Warming included, the first run is done after {both} instead of {cold_s}: it pays at \
         once.",
        void "";
    WARM_WAITS, "warming and the first run together took more time than the cold run",
        "Warming included, the first run is done after {both} instead of {cold_s}: it pays only \
         if users don't wait for the warming.",
        void "";

    // One variant against another.
    PAIR_NONE, "nothing to compare",
        "{variant} can't be compared with {base}: {why}.";
    PAIR_ONE_RUN, "one run on a side",
        "{variant} {amount}, in {runs}: how much runs vary is not known, so this is not an \
         answer.";
    PAIR_VERDICT, "the interval lies beyond the margin",
        "{variant} {amount}, {known}: {verdict}.",
        void "{variant} {amount}, {known}.";
    PAIR_SAME, "the interval lies within the margin",
        "{variant} and {base} are the same within {margin} in {title}: {change}, {known}: same.",
        void "{variant} against {base} in {title}: {change}, {known}.";
    PAIR_UNSURE, "the interval holds differences of both signs",
        "Unsure: {variant} {amount} in {runs}, but the truth may lie between {low} and \
         {high}.{seen}{more}",
        void "{variant} {amount} in {runs}, but the truth may lie between {low} and {high}.";
    PAIR_UNSURE_MARGIN, "the interval reaches into the margin",
        "Unsure whether by more than {margin}: {variant} {amount} in {runs}, and the truth may lie \
         between {low} and {high}.{more}",
        void "{variant} {amount} in {runs}, and the truth may lie between {low} and {high}.";
    PAIR_NOISE, "the noise of the machine could have made the difference",
        "{variant} {amount}, {known}, but other programs on this machine could have caused that \
         ({noise}).";
    PAIR_BEYOND_NOISE, "the machine was noisy, and the whole interval lies beyond what that can do",
        "The machine was not quiet, but that can cause {noise} at most.";
    PAIR_BESIDE, "the metric beside the one that decides",
        "{label}: {change} ({interval}), {verdict}.",
        void "{label}: {change} ({interval}).";

    // Several variants.
    RACE_BEST, "the best of several variants is told from the second",
        "{best} is best in {title}: {change} against the second, {second} (interval {interval}), \
         {blocks}.",
        void "In {title}, {best} against {second}: {change} (interval {interval}), {blocks}.";
    RACE_SAME, "the two best of several variants are the same",
        "{best} and {second} are best in {title}, and the same within {margin} ({interval}), \
         {blocks}.",
        void "In {title}, {best} against {second}: {change} (interval {interval}), {blocks}.";
    RACE_UNSURE, "the best of several variants is not told from the second",
        "{best} looks best in {title}, but is not told from the second, {second}: {change} \
         (interval {interval}), {blocks}.",
        void "In {title}, {best} against {second}: {change} (interval {interval}), {blocks}.";
    AGAINST, "several variants against the base",
        "Against {base}: {variants}.";
    DIFFER, "several things differ that were not asked for",
        "{things} differ: {names}{more}.";

    // A variant against itself.
    ITSELF_SAME, "a variant against itself is the same",
        "This machine can resolve {margin} in {blocks}: a variant against itself is the \
         same.{seen}",
        void "In {blocks} a variant differed from itself by less than {margin}.";
    ITSELF_UNSURE, "a variant against itself is not the same for sure",
        "This machine can't resolve {margin} in {blocks}: a variant against itself is \
         unsure.{more}{seen}";
    ITSELF_OTHER, "a variant against itself is better or worse",
        "A variant against itself is {verdict}: something other than the server decides here, or \
         this is the one experiment in twenty that fails by chance. Run it again, then `sweat \
         doctor`.{seen}",
        void "A variant against itself is not the same here.";

    // Levels of load.
    SWEEP_NONE, "a sweep without a load that ended",
        "No level of the sweep was measured.";
    SWEEP_BEST, "a sweep",
        "The highest rate is {rate} events/s at {axis}={at}, against {first} at {axis}={from}.",
        void "{rate} events/s were measured at {axis}={at}, and {first} at {axis}={from}.";
    SWEEP_PEAK, "the points carry a peak",
        "The scalability law has its peak at a load of {at} ({low} to {high}) with {rate} \
         events/s; contention {sigma}, coherence {kappa}.",
        void "";
    SWEEP_LEVEL, "the rate comes to a level and stays there",
        "It levels off: from {axis}={from} on all rates lie between {low} and {high} events/s.",
        void "";
    SWEEP_NO_PEAK, "the points carry no peak",
        "No {why}.",
        void "";

    // A search for capacity.
    CAPACITY_HELD, "something was confirmed",
        "The server holds {amount} with {objectives}.",
        void "{amount} passed with {objectives} in this search.";
    CAPACITY_NONE, "nothing was confirmed",
        "No {quantity} is confirmed with {objectives}.";
    CAPACITY_ILL_POSED, "the objective is at the unloaded latency",
        "ILL-POSED: {why}.";
    CAPACITY_FAILS, "a step failed because of the server",
        "It fails at {amount}: {why}.",
        void "A step at {amount} failed: {why}.";
    CAPACITY_LIMIT, "a step failed for another reason than the server",
        "No step failed because of the server: {why}.";
    CAPACITY_AGAIN, "steps that told nothing at first",
        "{steps} did not tell at once and ran again, longer.";

    // A replay.
    REPLAY_NONE, "a replay that sent nothing",
        "{variant}No statement was sent: all of {records} were left out.";
    REPLAY_VERDICT, "a replay of a log with times",
        "{variant}Of {classes} of statements, replayed against recorded: {tally} ({sent}); \
         {errors}{rows}.";
    REPLAY_SENT, "a replay of a log without times",
        "{variant}Replayed {sent}; the log has no times to compare with; {errors}{rows}.";
    REPLAY_SLOWED, "a class of statements took longer",
        "Most time was lost in `{class}`: {change}{times}.",
        void "";
    REPLAY_ON_TIME, "a replay that kept to its schedule",
        "{variant}It kept to its schedule ({timing}): lag {lag}.";
    REPLAY_BEHIND, "a replay that was behind its schedule",
        "{variant}It was behind its schedule ({timing}) from {from} on by up to {longest}, {share} \
         of its statements: lag {lag}.";
    REPLAY_LEFT_OUT, "a replay left records out",
        "{left_out} of {records} were left out ({share}), most of all for this: {reason} \
         ({count}).";
    REPLAY_CHANGES, "the same classes were replayed in both",
        "Of {classes} of statements replayed in both, with `{variant}` against `{base}`: {tally}.";

    // Things that a workload measured one by one.
    COSTS, "a load that measured operations one by one",
        "{things} measured in {rounds} each{left}.";
    COST_CHANGES, "the same operations were measured in both",
        "Of {things} measured in both, with `{variant}` against `{base}`: {tally}.";
    COST_MEAN, "several operations were measured in both, often enough",
        "Geometric mean of their times: {ratio}x, 95 % interval {low} .. {high}x: {verdict}.",
        void "";

    // Waits.
    WAITS, "waits of a load",
        "{instrument}: {waits}{times}.";
    WAITS_WAY, "waits of several variants",
        "{variant} of {instrument}: {words}.";
}

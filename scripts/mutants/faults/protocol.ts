import type { Mutant } from "../mutant.ts";

const reducer = "reducer/reduce.property.test.ts";
const frames = "frames.property.test.ts";
const client = "client/follow.test.ts";

/** Faults that the protocol's property tests must notice. */
export const protocolMutants: readonly Mutant[] = [
  {
    fault: "the reducer takes an event that it holds already",
    in: "client/reduceEvent",
    drop: "if ($event.seq <= $state.seq) return $state;",
    tests: reducer,
  },
  {
    fault: "a settled message is added and the live one stays",
    in: "client/settleMessage",
    replace: "return $changeLive($explained, $event);",
    by: "return $explained;",
    tests: reducer,
  },
  {
    fault: "missing numbers are not noticed",
    in: "client/reduceEvent",
    replace: "gaps: $openGap($gaps, $from, $to)",
    by: "gaps: $gaps",
    tests: reducer,
  },
  {
    fault: "pruned numbers are taken for lost ones",
    in: "client/withGapsExplained",
    replace: "gaps: $explainGaps($gaps, $deltas)",
    by: "gaps: $gaps",
    tests: reducer,
  },
  {
    fault: "a range ends one number early",
    in: "protocol/visibleEntries",
    replace: "$seq <= $to",
    by: "$seq < $to",
    tests: reducer,
  },
  {
    fault: "a prompt stays in the inbox after its run has begun",
    in: "client/settleMessage",
    replace: "$inbox.filter($isOther)",
    by: "$inbox",
    tests: reducer,
  },
  {
    fault: "an ended run leaves its live parts behind",
    in: "client/endRun",
    drop: "live: null",
    tests: reducer,
  },
  {
    fault: "a delta replaces the text instead of growing it",
    in: "protocol/growMessage",
    replace: "text: $old + $text",
    by: "text: $text",
    tests: reducer,
  },
  {
    fault: "a character that is split between two pieces is lost",
    in: "protocol/createSseDecoder",
    replace: "$utf8.decode($bytes, { stream: true })",
    by: "$utf8.decode($bytes)",
    tests: frames,
  },
  {
    fault: "a CRLF that is split between two pieces ends two lines",
    in: "protocol/createSseDecoder",
    drop: 'if ($endedInReturn && $text.startsWith("\\n")) $text = $text.slice(1);',
    tests: frames,
  },
  {
    fault: "a byte order mark is taken away anywhere",
    in: "protocol/createSseDecoder",
    drop: "!$begun",
    tests: frames,
  },
  {
    fault: "an id without data hands its number to the next frame",
    in: "protocol/createBlockParser",
    drop: "$id = undefined;",
    tests: frames,
  },
  {
    fault: "the cursor is inclusive",
    in: "client/followSession",
    replace: "$item.event.seq <= $cursor",
    by: "$item.event.seq < $cursor",
    tests: client,
  },
  {
    fault: "a reconnect begins where the first connection began",
    in: "client/followSession",
    drop: "$cursor = $item.event.seq;",
    tests: client,
  },
  {
    fault: "ids follow a clock that steps back",
    in: "protocol/createIds",
    replace: "Math.max($latest, $now)",
    by: "$now",
    tests: "protocol/src/ids.test.ts",
  },
  {
    fault: "a decoded event is a copy in another order",
    in: "protocol/decodeEvent",
    replace: '{ kind: "known", event: $event }',
    by: '{ kind: "known", event: { ...$event, data: $definition.schema.parse($event.data) } }',
    given: ["$definition.schema.safeParse($event.data)"],
    tests: "events/registry.test.ts",
  },
];

export {
  decodeEntryPage,
  decodeEventPage,
  decodeRows,
  decodeSnapshot,
  type ReportDamage,
} from "./decode-events.ts";
export { makeQueries, type Queries } from "./queries.ts";
export { type Wake, Watchers } from "./watchers.ts";
export { decodeList } from "./read-list.ts";

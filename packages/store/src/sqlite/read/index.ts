export {
  decodeEntryPage,
  decodeEventPage,
  decodeRows,
  type ReportDamage,
} from "./decode-events.ts";
export { type NearQuery, NearReader } from "./near-reader.ts";
export { makeQueries, type Queries } from "./queries.ts";
export { type Wake, Watchers } from "./watchers.ts";
export { decodeList } from "./read-list.ts";
export { readWholeSnapshot } from "./whole-snapshot.ts";

export { makeQueries, type Queries } from "./queries.ts";
export { type Wake, Watchers } from "./watchers.ts";

export { openSearch, type SqliteSearch } from "./client.ts";

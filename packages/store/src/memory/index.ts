export { createMemoryStore, type MemoryStore, type MemoryStoreOptions } from "./store.ts";

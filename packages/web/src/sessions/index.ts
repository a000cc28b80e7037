export { createListStore, type ListStore } from "./list-store.ts";
export { SearchResults } from "./search.tsx";
export { createSeenStore, type SeenStore } from "./seen.ts";
export { sessionActions, titleOf } from "./session-actions.ts";
export { SessionList } from "./session-list.tsx";
export { SessionMenu } from "./session-menu.tsx";
export { ShelfMenu } from "./shelf-menu.tsx";
export { TitleField } from "./title-field.tsx";

export { Conversation } from "./conversation.tsx";
export { createUnsentStore, type UnsentStore } from "./unsent.ts";
export { Welcome } from "./welcome.tsx";

export { RichChat } from "./rich-chat.ts";

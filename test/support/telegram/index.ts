export { botToken, FakeBotApi, type ShownMessage } from "./fake-bot-api.ts";
export { readMarkdownV2 } from "./read-markdown-v2.ts";

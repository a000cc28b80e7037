import type { UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";

/** The test replaces this file with the lines of the documentation. */
export function useDocumentedChat(): UseChatHelpers<UIMessage> {
  throw new Error("Nothing replaced this file.");
}

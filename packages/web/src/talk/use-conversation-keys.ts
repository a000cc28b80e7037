import type { LiveView } from "@holdfast/protocol";
import { useEffect, useRef } from "react";
import type { TalkActions } from "./store/talk-actions.ts";

interface ConversationKeys {
  readonly approvals: LiveView["approvals"];
  readonly actions: Pick<TalkActions, "answer" | "seenApprovals" | "showNewest">;
  readonly onFind: () => void;
  /** `null` while no panel is open. */
  readonly onClosePanel: (() => void) | null;
  /** `null` while there is nothing to stop. */
  readonly onStop: (() => void) | null;
}

/** The keys of a conversation, wherever the focus is. A dialog or a menu in front of it has its own. */
export function useConversationKeys(keys: ConversationKeys): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.isComposing || isCovered()) return;
      if (handleKey(event, latest.current)) event.preventDefault();
    }
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

function isCovered(): boolean {
  return document.querySelector("dialog[open], :popover-open") !== null;
}

/** Whether the key was for the conversation. */
function handleKey(event: KeyboardEvent, keys: ConversationKeys): boolean {
  if (event.key === "Escape") return !isInOtherField(event) && handleEscape(keys);
  const isCommand = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
  // In the find bar the same keys open the browser's own.
  if (isCommand && event.key.toLowerCase() === "f" && !isInFindBar(event)) {
    keys.onFind();
    return true;
  }
  const answer = event.altKey && !event.ctrlKey && !event.metaKey ? answerOf(event) : null;
  return answer !== null && answerFirst(keys, answer);
}

/** A field other than that of the composer, which may use Escape itself. */
function isInOtherField({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement &&
    target.matches("input, textarea, select") &&
    target.closest(".composer") === null
  );
}

function isInFindBar({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.closest(".find-bar") !== null;
}

function handleEscape({ onClosePanel, onStop }: ConversationKeys): boolean {
  const action = onClosePanel ?? onStop;
  action?.();
  return action !== null;
}

/** With Alt some systems write other characters, so the place of the key decides there. */
function answerOf({ key, code }: KeyboardEvent): "once" | "deny" | null {
  const letter = /^[a-z]$/i.test(key) ? key.toLowerCase() : code.replace("Key", "").toLowerCase();
  return letter === "y" ? "once" : letter === "n" ? "deny" : null;
}

/** Answers the first call that waits. It can be allowed only once all of it has been in view. */
function answerFirst({ approvals, actions }: ConversationKeys, decision: "once" | "deny"): boolean {
  const call = approvals.find(({ kind }) => kind === undefined);
  if (call === undefined) return false;
  const isSeen = actions.seenApprovals.read().has(call.approvalId) && call.hidden === undefined;
  if (decision === "deny" || isSeen) void actions.answer(call.approvalId, { decision });
  else actions.showNewest();
  return true;
}

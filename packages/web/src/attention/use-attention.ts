import { useEffect, useRef, useState } from "react";
import { useApp, useStore } from "../app-context.ts";
import { hrefOf } from "../router/routes.ts";
import { sessionTitle } from "../sessions/session-actions.ts";
import { useOpenApprovals } from "../settings/open-approvals.ts";
import { preferences } from "../ui/preferences.ts";
import { strings } from "../strings/strings.ts";
import { type AttentionEvent, createRunWatch, newlyWaiting } from "./attention-events.ts";
import { setTitleBadge } from "./page-title.ts";

/** Tells a person who looks elsewhere that something waits, or that a long run has ended. */
export function useAttention(): void {
  const { list } = useApp();
  const query = useOpenApprovals();
  const approvals = query.kind === "loaded" ? query.value.approvals : null;
  const seen = useRef<typeof approvals>(null);
  const { sessions, pinned } = useStore(list);
  const [watch] = useState(createRunWatch);
  const titles = useRef(new Map<string, string>());
  useHoldInFront();

  useEffect(() => {
    if (approvals === null) return;
    setTitleBadge(approvals.length);
    // What waited before the page was opened is on the page.
    const events = seen.current === null ? [] : newlyWaiting(seen.current, approvals);
    seen.current = approvals;
    for (const event of events) void announce(event, titles.current);
  }, [approvals]);

  useEffect(() => {
    const all = [...pinned, ...(sessions ?? [])];
    for (const session of all) titles.current.set(session.id, sessionTitle(session));
    for (const event of watch.ended(all, Date.now())) void announce(event, titles.current);
  }, [watch, sessions, pinned]);
}

/** While any tab holds it, the person is looking at the page. */
const inFrontLock = "holdfast:in-front";
const soundLock = "holdfast:sound";

/** Web locks exist on HTTPS and loopback only, like notifications. */
const { locks } = navigator as { readonly locks?: LockManager };

function useHoldInFront(): void {
  useEffect(() => {
    let release: (() => void) | undefined;
    function update(): void {
      if (!isThisTabInFront()) {
        release?.();
        release = undefined;
        return;
      }
      if (release !== undefined) return;
      const held = new Promise<void>((resolve) => (release = resolve));
      void locks?.request(inFrontLock, { mode: "shared" }, () => held);
    }
    update();
    const events = ["focus", "blur"] as const;
    for (const name of events) addEventListener(name, update);
    document.addEventListener("visibilitychange", update);
    return () => {
      release?.();
      for (const name of events) removeEventListener(name, update);
      document.removeEventListener("visibilitychange", update);
    };
  }, []);
}

function isThisTabInFront(): boolean {
  return document.visibilityState === "visible" && document.hasFocus();
}

async function isInFront(): Promise<boolean> {
  if (locks === undefined) return isThisTabInFront();
  const { held = [] } = await locks.query();
  return held.some(({ name }) => name === inFrontLock);
}

async function announce(
  { kind, tag, sessionId }: AttentionEvent,
  titles: ReadonlyMap<string, string>,
): Promise<void> {
  const { notifications, sound } = preferences.read();
  if ((notifications === "off" && sound === "off") || (await isInFront())) return;
  if (sound === "on") playSound();
  if (notifications === "off" || Notification.permission !== "granted") return;
  const title = strings.attention.events[kind];
  const href = hrefOf({ kind: "session", id: sessionId, at: null });
  // The text of the conversation is left out: notifications are shown on locked screens.
  const options = { body: titles.get(sessionId) ?? "", tag, data: { href }, icon: "mark.svg" };
  const { serviceWorker } = navigator as { readonly serviceWorker?: ServiceWorkerContainer };
  const registration = await serviceWorker?.getRegistration();
  // Phones show only notifications of a service worker.
  if (registration !== undefined) return registration.showNotification(title, options);
  const shown = new Notification(title, options);
  shown.addEventListener("click", () => {
    focus();
    location.assign(new URL(href, document.baseURI).href);
  });
}

/** Two short tones. One tab plays them, whichever is first. */
export function playSound(): void {
  const play = async (): Promise<void> => {
    const audio = new AudioContext();
    for (const [index, frequency] of [660, 880].entries()) {
      const tone = new OscillatorNode(audio, { frequency });
      const volume = new GainNode(audio, { gain: 0.08 });
      tone.connect(volume).connect(audio.destination);
      tone.start(audio.currentTime + index * 0.16);
      tone.stop(audio.currentTime + index * 0.16 + 0.14);
    }
    await new Promise((resolve) => setTimeout(resolve, 600));
    await audio.close();
  };
  if (locks === undefined) void play();
  else
    void locks.request(soundLock, { ifAvailable: true }, (lock) =>
      lock === null ? undefined : play(),
    );
}

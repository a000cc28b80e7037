import type { FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import type { SeededRandom } from "@holdfast/testing/simulator/scheduler";

/** A moment between an update and the delivery of its answer, as the platform sees it. */
export interface CrashPoint {
  readonly method: string;
  /** Before the platform carries out the call, or after that and before it answers; `answered`: a little later. */
  readonly when: "before" | "after" | "answered";
}

export const crashPoints: readonly CrashPoint[] = [
  { method: "getUpdates", when: "after" },
  { method: "getUpdates", when: "answered" },
  { method: "sendChatAction", when: "before" },
  { method: "sendMessage", when: "before" },
  { method: "sendMessage", when: "after" },
  { method: "sendMessage", when: "answered" },
  { method: "editMessageText", when: "before" },
  { method: "editMessageText", when: "after" },
  { method: "editMessageText", when: "answered" },
];

export const crashPointName = ({ method, when }: CrashPoint): string => `${method} ${when}`;

const maxDelayMs = 40;

/** Calls `strike` at the point, once, and holds back the platform's answers meanwhile. */
export function crashAt(
  platform: FakeBotApi,
  point: CrashPoint,
  chance: SeededRandom,
  strike: () => Promise<void>,
): Promise<void> {
  const { faults } = platform;
  return new Promise((resolve) => {
    const clear = () => {
      faults.before = () => {};
      faults.after = () => {};
    };
    const hit = async () => {
      clear();
      await strike();
      resolve();
    };
    const fits = (method: string) =>
      method === point.method && (method !== "getUpdates" || platform.unconfirmed > 0);
    if (point.when === "before") faults.before = (method) => (fits(method) ? hit() : undefined);
    if (point.when === "after") faults.after = (method) => (fits(method) ? hit() : undefined);
    if (point.when !== "answered") return;
    const delay = chance.between(0, maxDelayMs);
    faults.after = (method) => {
      if (!fits(method)) return;
      clear();
      setTimeout(() => void hit(), delay);
    };
  });
}

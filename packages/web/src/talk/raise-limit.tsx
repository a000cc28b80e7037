import type { RunView, SpendLimitView } from "@holdfast/protocol";
import { formatDollars } from "@holdfast/protocol";
import { type FormEvent, useEffect, useId, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import { useTalk } from "./store/talk-actions.ts";

const scopes: Readonly<Record<string, SpendLimitView["scope"]>> = {
  spend: "run",
  spend_session: "session",
  spend_day: "day",
};
const settings = { run: "spendPerRun", day: "spendPerDay" } as const;

/** Under a run that a spending limit ended: raises the limit and continues from there. */
export function RaiseLimit({ run }: { run: RunView }) {
  const { router } = useApp();
  const scope = scopes[run.cause ?? ""];
  if (run.state !== "limit") return null;
  if (scope !== undefined) return <RaiseForm run={run} scope={scope} />;
  if (run.cause !== "spend_schedule") return null;
  return (
    <button
      type="button"
      className="button"
      onClick={() => router.go({ kind: "settings", section: "schedules" })}
    >
      {strings.usage.limits.raise.schedules}
    </button>
  );
}

function RaiseForm({ run, scope }: { run: RunView; scope: SpendLimitView["scope"] }) {
  const { client, toasts } = useApp();
  const talk = useTalk();
  const id = useId();
  const [known, setKnown] = useState<SpendLimitView | null>(null);
  const [edited, setEdited] = useState<string | null>(null);
  const t = strings.usage.limits.raise;
  useEffect(() => {
    let isShown = true;
    void client.readSpending({ query: { sessionId: run.sessionId } }).then((read) => {
      if (isShown && read.ok)
        setKnown(read.value.limits.find((limit) => limit.scope === scope) ?? null);
      return undefined;
    });
    return () => {
      isShown = false;
    };
  }, [client, run.sessionId, scope]);

  const text = edited ?? suggestion(known);
  const spent = known?.spentMicros ?? null;

  async function raise(event: FormEvent): Promise<void> {
    event.preventDefault();
    const dollars = Number(text);
    const raised =
      scope === "session"
        ? await client.putSessionSpendLimit({
            params: { id: run.sessionId },
            body: { limitMicros: Math.round(dollars * 1_000_000) },
          })
        : await client.putSetting({
            params: { name: settings[scope] },
            body: { value: String(dollars) },
          });
    if (raised.ok) talk.resume(run.id);
    else
      toasts.show(
        raised.error.code === "setting_configured" ? t.configured : problemText(raised.error),
      );
  }

  return (
    <form className="row" onSubmit={(event) => void raise(event)}>
      <label className="quiet" htmlFor={id}>
        {t[scope]}
      </label>
      <input
        id={id}
        className="input"
        type="number"
        inputMode="decimal"
        min="0"
        max="1000000"
        step="any"
        required
        value={text}
        onChange={(event) => setEdited(event.target.value)}
      />
      <button type="submit" className="button primary">
        {t.confirm}
      </button>
      {spent !== null && <span className="quiet">{t.spent(formatDollars(spent))}</span>}
    </form>
  );
}

/** Twice the limit, or of what was spent if that is more. */
function suggestion(limit: SpendLimitView | null): string {
  const micros = Math.max(limit?.limitMicros ?? 0, limit?.spentMicros ?? 0);
  return micros === 0 ? "" : String(Math.ceil((2 * micros) / 10_000) / 100);
}

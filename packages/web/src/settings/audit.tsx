import type { AuditEntry } from "@holdfast/protocol";
import { useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { SessionLink } from "../sessions/session-link.tsx";
import { SettingsGroup } from "./part.tsx";
import { useHostQuery } from "./settings-group.tsx";

const pageSize = 20;

/** Who allowed, or did not allow, what and when. */
export function Audit() {
  const { client, toasts } = useApp();
  const [read] = useHostQuery(() => client.listAudit({ query: { limit: pageSize } }));
  const [earlier, setEarlier] = useState<readonly AuditEntry[]>([]);
  const [cursor, setCursor] = useState<string | null | undefined>(undefined);
  const w = strings.audit;
  async function more(from: string): Promise<void> {
    const result = await client.listAudit({ query: { limit: pageSize, cursor: from } });
    if (!result.ok) return toasts.show(problemText(result.error));
    const { entries, nextCursor } = result.value;
    setEarlier((held) => [...held, ...entries]);
    setCursor(nextCursor);
  }
  return (
    <SettingsGroup title={w.title} hint={w.hint} read={read}>
      {({ entries, nextCursor }) => {
        const next = cursor === undefined ? nextCursor : cursor;
        if (entries.length === 0) return <p className="quiet">{w.none}</p>;
        return (
          <>
            <ol className="facts-list">
              {[...entries, ...earlier].map((entry) => (
                <AuditEntryRow key={`${entry.callId} ${entry.what} ${entry.at}`} entry={entry} />
              ))}
            </ol>
            {next !== null && (
              <button type="button" className="button" onClick={() => void more(next)}>
                {w.earlier}
              </button>
            )}
          </>
        );
      }}
    </SettingsGroup>
  );
}

function AuditEntryRow({
  entry: { at, sessionId, tool, what, shown, rule, by },
}: {
  entry: AuditEntry;
}) {
  const w = strings.audit;
  const said = [
    w.what[what],
    ...(by === undefined ? [] : [w.by(by)]),
    ...(rule === undefined ? [] : [w.rule(revealInvisible(rule))]),
    formatMoment(at),
  ];
  return (
    <li>
      <span className="fact-text">
        <strong>{tool}</strong>
        {shown !== undefined && <code dir="ltr">{revealInvisible(shown)}</code>}
        <span className="quiet">{said.join(", ")}</span>
      </span>
      <SessionLink id={sessionId} />
    </li>
  );
}

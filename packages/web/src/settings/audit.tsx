import type { AuditEntry } from "@holdfast/protocol";
import { useState } from "react";
import { sentenceOf, useApp } from "../app-context.ts";
import { momentOf } from "../ui/format-time.ts";
import { revealUnseen } from "../ui/markdown/safe-text.ts";
import { words } from "../strings/strings.ts";
import { SessionLink } from "../sessions/session-link.tsx";
import { Part } from "./part.tsx";
import { useRead } from "./settings-group.tsx";

const pageSize = 20;

/** Who allowed, or did not allow, what and when. */
export function Audit() {
  const { client, toasts } = useApp();
  const [read] = useRead(() => client.listAudit({ query: { limit: pageSize } }));
  const [earlier, setEarlier] = useState<readonly AuditEntry[]>([]);
  const [cursor, setCursor] = useState<string | null | undefined>(undefined);
  const w = words.audit;
  async function more(from: string): Promise<void> {
    const result = await client.listAudit({ query: { limit: pageSize, cursor: from } });
    if (!result.ok) return toasts.tell(sentenceOf(result.error));
    const { entries, nextCursor } = result.value;
    setEarlier((held) => [...held, ...entries]);
    setCursor(nextCursor);
  }
  return (
    <Part title={w.title} hint={w.hint} read={read}>
      {({ entries, nextCursor }) => {
        const next = cursor === undefined ? nextCursor : cursor;
        if (entries.length === 0) return <p className="quiet">{w.none}</p>;
        return (
          <>
            <ol className="facts-list">
              {[...entries, ...earlier].map((entry) => (
                <Entry key={`${entry.callId} ${entry.what} ${entry.at}`} entry={entry} />
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
    </Part>
  );
}

function Entry({ entry: { at, sessionId, tool, what, shown, rule, by } }: { entry: AuditEntry }) {
  const w = words.audit;
  const said = [
    w.what[what],
    ...(by === undefined ? [] : [w.by(by)]),
    ...(rule === undefined ? [] : [w.rule(revealUnseen(rule))]),
    momentOf(at),
  ];
  return (
    <li>
      <span className="fact-text">
        <strong>{tool}</strong>
        {shown !== undefined && <code dir="ltr">{revealUnseen(shown)}</code>}
        <span className="quiet">{said.join(", ")}</span>
      </span>
      <SessionLink id={sessionId} />
    </li>
  );
}

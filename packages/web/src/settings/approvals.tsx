import { useState } from "react";
import type { RuleView, AuditEntry, ApprovalView } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { SettingsGroup, useHostQuery, useInterval } from "./settings-group.tsx";
import { SessionLink } from "../sessions/session-link.tsx";

/** What runs without asking, and how to end that. */
function RuleList() {
  const { client, toasts } = useApp();
  const [read, again] = useHostQuery(() => client.listRules());
  const w = strings.rules;
  async function remove({ id }: RuleView): Promise<void> {
    const result = await client.removeRule({ params: { id } });
    toasts.show(result.ok ? w.removed : problemText(result.error));
    again();
  }
  return (
    <SettingsGroup title={w.title} hint={w.hint} read={read}>
      {({ rules }) =>
        rules.length === 0 ? (
          <p className="quiet">{w.none}</p>
        ) : (
          <ul className="facts-list">
            {rules.map((each) => (
              <li key={each.id}>
                <span className="fact-text">
                  <code dir="ltr">{revealInvisible(each.rule)}</code>
                  <span className="quiet">{w.made(each.by, formatMoment(each.madeAt))}</span>
                </span>
                <button
                  type="button"
                  className="button"
                  aria-label={w.removeNamed(each.rule)}
                  onClick={() => void remove(each)}
                >
                  {w.remove}
                </button>
              </li>
            ))}
          </ul>
        )
      }
    </SettingsGroup>
  );
}

const pageSize = 20;

/** Who allowed, or did not allow, what and when. */
function Audit() {
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

export function Approvals() {
  return (
    <>
      <OpenApprovals />
      <RuleList />
      <Audit />
    </>
  );
}

/** What waits for a person's word, over all conversations. It is answered where it was asked, with what led there in sight. */
function OpenApprovals() {
  const { client } = useApp();
  const [read, again] = useHostQuery(() => client.listApprovals());
  useInterval(5_000, again);
  const w = strings.settings;
  return (
    <SettingsGroup title={w.openApprovals} read={read}>
      {({ approvals }) =>
        approvals.length === 0 ? (
          <p className="quiet">{w.noApprovals}</p>
        ) : (
          <ul className="facts-list">
            {approvals.map((approval) => (
              <OpenApproval key={approval.approvalId} approval={approval} />
            ))}
          </ul>
        )
      }
    </SettingsGroup>
  );
}

function OpenApproval({
  approval: { name, kind, shown, askedAt, sessionId },
}: {
  approval: ApprovalView;
}) {
  return (
    <li>
      <span className="fact-text">
        <strong>{kind === "question" ? strings.question.title : name}</strong>
        {shown !== undefined && <code dir="ltr">{revealInvisible(shown)}</code>}
        <span className="quiet">{formatMoment(askedAt)}</span>
      </span>
      <SessionLink id={sessionId} />
    </li>
  );
}

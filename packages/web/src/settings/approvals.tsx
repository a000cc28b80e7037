import { useState } from "react";
import type { ApprovalView, AuditEntry, GrantView, RuleView } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { SettingsGroup, useHostQuery } from "./settings-group.tsx";
import { useNeededSignIns, useOpenApprovals } from "./open-approvals.ts";
import { hrefOf } from "../router/routes.ts";
import { SessionLink } from "../sessions/session-link.tsx";

export function Approvals() {
  return (
    <>
      <OpenApprovals />
      <RuleList />
      <GrantList />
      <Audit />
    </>
  );
}

/** Open approvals of all conversations. Each is answered in its conversation, where its context is visible. */
function OpenApprovals() {
  const query = useOpenApprovals();
  const signIns = useNeededSignIns();
  const t = strings.settings;
  return (
    <SettingsGroup title={t.openApprovals} query={query}>
      {({ approvals }) =>
        approvals.length + signIns.length === 0 ? (
          <p className="quiet">{t.noApprovals}</p>
        ) : (
          <ul className="facts-list">
            {approvals.map((approval) => (
              <OpenApproval key={approval.approvalId} approval={approval} />
            ))}
            {signIns.map((name) => (
              <li key={name}>
                <span className="fact-text">
                  <strong>{strings.mcp.needsSignIn(revealInvisible(name))}</strong>
                </span>
                <a href={hrefOf({ kind: "settings", section: "mcp" })}>{strings.mcp.place}</a>
              </li>
            ))}
          </ul>
        )
      }
    </SettingsGroup>
  );
}

function OpenApproval({
  approval: { name, kind, plan, shown, askedAt, sessionId },
}: {
  approval: ApprovalView;
}) {
  return (
    <li>
      <span className="fact-text">
        <strong>{approvalTitle({ name, kind, plan })}</strong>
        {shown !== undefined && <code dir="ltr">{revealInvisible(shown)}</code>}
        <span className="quiet">{formatMoment(askedAt)}</span>
      </span>
      <SessionLink id={sessionId} />
    </li>
  );
}

function approvalTitle({ name, kind, plan }: Pick<ApprovalView, "name" | "kind" | "plan">): string {
  if (plan === true) return strings.plan.title;
  return kind === "question" ? strings.question.title : strings.approval.title(name);
}

/** Rules for calls that run without asking, with a button to remove each. */
function RuleList() {
  const { client, toasts } = useApp();
  const [rulesQuery, refetch] = useHostQuery(() => client.listRules());
  const t = strings.rules;
  async function remove({ id }: RuleView): Promise<void> {
    const result = await client.removeRule({ params: { id } });
    toasts.show(result.ok ? t.removed : problemText(result.error));
    refetch();
  }
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={rulesQuery}>
      {({ rules }) =>
        rules.length === 0 ? (
          <p className="quiet">{t.none}</p>
        ) : (
          <ul className="facts-list">
            {rules.map((rule) => (
              <li key={rule.id}>
                <span className="fact-text">
                  <code dir="ltr">{revealInvisible(rule.rule)}</code>
                  <span className="quiet">
                    {[
                      t.made(rule.by, formatMoment(rule.madeAt)),
                      ...(rule.until === undefined ? [] : [t.until(formatMoment(rule.until))]),
                      ...(rule.tooWide === true ? [t.tooWide] : []),
                    ].join(", ")}
                  </span>
                </span>
                <button
                  type="button"
                  className="button"
                  aria-label={t.removeNamed(rule.rule)}
                  onClick={() => void remove(rule)}
                >
                  {t.remove}
                </button>
              </li>
            ))}
          </ul>
        )
      }
    </SettingsGroup>
  );
}

const maxGrants = 200;

/** What was allowed for whole conversations, with a button to revoke each. */
function GrantList() {
  const { client, toasts } = useApp();
  const [query, refetch] = useHostQuery(() => client.listGrants({ query: { limit: maxGrants } }));
  const t = strings.rules;
  async function revoke({ id }: GrantView): Promise<void> {
    const result = await client.revokeGrant({ params: { id } });
    toasts.show(result.ok ? t.removed : problemText(result.error));
    refetch();
  }
  return (
    <SettingsGroup title={t.grants} hint={t.grantsHint} query={query}>
      {({ grants }) =>
        grants.length === 0 ? (
          <p className="quiet">{t.noGrants}</p>
        ) : (
          <ul className="facts-list">
            {grants.map((grant) => (
              <li key={grant.id}>
                <span className="fact-text">
                  <strong>{grant.tool}</strong>
                  <code dir="ltr">{revealInvisible(grant.rule ?? grant.shown ?? "")}</code>
                  <span className="quiet">
                    {[
                      t.made(grant.by ?? "", formatMoment(grant.madeAt)),
                      ...(grant.until === undefined ? [] : [t.until(formatMoment(grant.until))]),
                    ].join(", ")}
                  </span>
                  <SessionLink id={grant.sessionId} />
                </span>
                <button
                  type="button"
                  className="button"
                  aria-label={t.removeNamed(grant.rule ?? grant.tool)}
                  onClick={() => void revoke(grant)}
                >
                  {t.remove}
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

/** Who allowed or denied what, and when. */
function Audit() {
  const { client, toasts } = useApp();
  const [query] = useHostQuery(() => client.listAudit({ query: { limit: pageSize } }));
  const [earlier, setEarlier] = useState<readonly AuditEntry[]>([]);
  const [cursor, setCursor] = useState<string | null | undefined>(undefined);
  const t = strings.audit;
  async function loadMore(from: string): Promise<void> {
    const result = await client.listAudit({ query: { limit: pageSize, cursor: from } });
    if (!result.ok) return toasts.show(problemText(result.error));
    const { entries, nextCursor } = result.value;
    setEarlier((old) => [...old, ...entries]);
    setCursor(nextCursor);
  }
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ entries, nextCursor }) => {
        const next = cursor === undefined ? nextCursor : cursor;
        if (entries.length === 0) return <p className="quiet">{t.none}</p>;
        return (
          <>
            <ol className="facts-list">
              {[...entries, ...earlier].map((entry) => (
                <AuditEntryRow key={`${entry.callId} ${entry.what} ${entry.at}`} entry={entry} />
              ))}
            </ol>
            {next !== null && (
              <button type="button" className="button" onClick={() => void loadMore(next)}>
                {t.earlier}
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
  const t = strings.audit;
  const details = [
    t.what[what],
    ...(by === undefined ? [] : [t.by(by)]),
    ...(rule === undefined ? [] : [t.rule(revealInvisible(rule))]),
    formatMoment(at),
  ];
  return (
    <li>
      <span className="fact-text">
        <strong>{tool}</strong>
        {shown !== undefined && <code dir="ltr">{revealInvisible(shown)}</code>}
        <span className="quiet">{details.join(", ")}</span>
      </span>
      <SessionLink id={sessionId} />
    </li>
  );
}

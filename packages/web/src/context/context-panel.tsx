import type { Client } from "@holdfast/client";
import type { ContextView, SessionId } from "@holdfast/protocol";
import { type ReactNode, useEffect, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { Panel } from "../ui/panel.tsx";
import { strings } from "../strings/strings.ts";
import { PromptBlocks } from "./prompt-blocks.tsx";
import { CacheChart, WindowChart } from "./context-charts.tsx";
import { AgentTrust } from "../talk/trust/agent-trust.tsx";
import { SkillTrust } from "../talk/trust/skill-trust.tsx";
import { WorkspaceTrust } from "../talk/trust/workspace-trust.tsx";

const debounceMs = 150;

interface ContextPanelProps {
  readonly id: SessionId;
  /** Grows with each entry, which changes the context of the model. */
  readonly version: number;
  readonly onClose: () => void;
}

/** The context of the model, its cost, and how much of it the provider had cached. */
export function ContextPanel({ id, version, onClose }: ContextPanelProps) {
  const { client } = useApp();
  const { view, trouble } = useContextView(client, id, version);
  return (
    <Panel title={strings.context.title} onClose={onClose}>
      {trouble !== null && <p className="quiet">{trouble}</p>}
      {view !== null && <ContextDetails id={id} view={view} />}
    </Panel>
  );
}

function ContextDetails({ id, view }: { id: SessionId; view: ContextView }) {
  const { totals } = view;
  const t = strings.context;
  return (
    <>
      <WindowChart tokens={view.tokens} windowTokens={view.windowTokens} />
      <dl className="facts">
        <dt>{t.model}</dt>
        <dd>{view.model ?? strings.composer.defaultModel}</dd>
        <dt>{t.calls}</dt>
        <dd>{totals.calls.toLocaleString()}</dd>
        <dt>{t.tokens}</dt>
        <dd>{strings.command.tokens(totals.input, totals.output, totals.costMicros)}</dd>
        {totals.hitShare !== null && (
          <>
            <dt>{t.hitShare}</dt>
            <dd>{t.percent(totals.hitShare)}</dd>
          </>
        )}
      </dl>
      {view.prompt !== undefined && (
        <PanelSection title={strings.prompt.title} hint={strings.prompt.hint}>
          <PromptBlocks blocks={view.prompt} />
        </PanelSection>
      )}
      <PanelSection title={t.cache} hint={t.cacheHint}>
        <CacheChart turns={view.turns} />
      </PanelSection>
      <Epochs id={id} view={view} />
      <WorkspaceTrust id={id} />
      <SkillTrust id={id} />
      <AgentTrust id={id} />
    </>
  );
}

function Epochs({ id, view }: { id: SessionId; view: ContextView }) {
  const { client, toasts } = useApp();
  const t = strings.context;
  async function restore(n: number): Promise<void> {
    const result = await client.restoreEpoch({ params: { id, n }, body: {} });
    toasts.show(result.ok ? t.restored : problemText(result.error));
  }
  if (view.epochs.length === 0) return null;
  return (
    <PanelSection title={t.epochs} hint={t.epochsHint}>
      <ul className="facts-list">
        {view.epochs.map(({ epoch, at, covers, restores }) => (
          <li key={epoch}>
            <span>
              <strong>{t.epoch(epoch)}</strong>{" "}
              <span className="quiet">
                {covers === null ? t.whole(restores ?? 0) : t.covers(covers.from, covers.to)}
                {", "}
                {formatMoment(at)}
              </span>
            </span>
            {epoch === view.epoch ? (
              <span className="quiet">{t.current}</span>
            ) : (
              <button type="button" className="button" onClick={() => void restore(epoch)}>
                {t.restore}
              </button>
            )}
          </li>
        ))}
        {view.epoch !== 0 && (
          <li>
            <span>{t.conversation}</span>
            <button type="button" className="button" onClick={() => void restore(0)}>
              {t.restore}
            </button>
          </li>
        )}
      </ul>
    </PanelSection>
  );
}

interface PanelSectionProps {
  readonly title: string;
  readonly hint: string;
  readonly children: ReactNode;
}

function PanelSection({ title, hint, children }: PanelSectionProps) {
  return (
    <section className="settings-section">
      <h3>{title}</h3>
      <p className="quiet">{hint}</p>
      {children}
    </section>
  );
}

function useContextView(client: Client, id: SessionId, version: number) {
  const [view, setView] = useState<ContextView | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    // Entries come in bursts during a run; only the last of them is worth a request.
    const timer = setTimeout(() => {
      const { signal } = leaving;
      void client.readContext({ params: { id } }, { signal }).then((result) => {
        if (result.ok) setView(result.value);
        else if (!signal.aborted) setTrouble(problemText(result.error));
        return undefined;
      });
    }, debounceMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
    // A new version has another context.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [client, id, version]);
  return { view, trouble };
}

import type { Client } from "@holdfast/client";
import type { ContextView, SessionId } from "@holdfast/protocol";
import { type ReactNode, useEffect, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { Panel } from "../ui/panel.tsx";
import { strings } from "../strings/strings.ts";
import { CacheChart, WindowChart } from "./context-charts.tsx";
import { WorkspaceTrust } from "../talk/composer/workspace-trust.tsx";

interface ContextPanelProps {
  readonly id: SessionId;
  /** Grows with each entry: then what the model gets has changed. */
  readonly version: number;
  readonly onClose: () => void;
}

/** What the model gets, what it cost, and what of it its provider had kept. */
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
  const w = strings.context;
  return (
    <>
      <WindowChart tokens={view.tokens} windowTokens={view.windowTokens} />
      <dl className="facts">
        <dt>{w.model}</dt>
        <dd>{view.model ?? strings.composer.defaultModel}</dd>
        <dt>{w.calls}</dt>
        <dd>{totals.calls.toLocaleString()}</dd>
        <dt>{w.tokens}</dt>
        <dd>{strings.command.tokens(totals.input, totals.output, totals.costMicros)}</dd>
        {totals.hitShare !== null && (
          <>
            <dt>{w.hitShare}</dt>
            <dd>{w.percent(totals.hitShare)}</dd>
          </>
        )}
      </dl>
      <PanelSection title={w.cache} hint={w.cacheHint}>
        <CacheChart turns={view.turns} />
      </PanelSection>
      <Epochs id={id} view={view} />
      <WorkspaceTrust id={id} />
    </>
  );
}

function Epochs({ id, view }: { id: SessionId; view: ContextView }) {
  const { client, toasts } = useApp();
  const w = strings.context;
  async function restore(n: number): Promise<void> {
    const result = await client.restoreEpoch({ params: { id, n }, body: {} });
    toasts.show(result.ok ? w.restored : problemText(result.error));
  }
  if (view.epochs.length === 0) return null;
  return (
    <PanelSection title={w.epochs} hint={w.epochsHint}>
      <ul className="facts-list">
        {view.epochs.map(({ epoch, at, covers, restores }) => (
          <li key={epoch}>
            <span>
              <strong>{w.epoch(epoch)}</strong>{" "}
              <span className="quiet">
                {covers === null ? w.whole(restores ?? 0) : w.covers(covers.from, covers.to)}
                {", "}
                {formatMoment(at)}
              </span>
            </span>
            {epoch === view.epoch ? (
              <span className="quiet">{w.current}</span>
            ) : (
              <button type="button" className="button" onClick={() => void restore(epoch)}>
                {w.restore}
              </button>
            )}
          </li>
        ))}
        {view.epoch !== 0 && (
          <li>
            <span>{w.conversation}</span>
            <button type="button" className="button" onClick={() => void restore(0)}>
              {w.restore}
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
    <section className="settings-part">
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
    // Many entries come at once while a run goes on; the last of them is worth a read.
    const timer = setTimeout(() => {
      const { signal } = leaving;
      void client.readContext({ params: { id } }, { signal }).then((result) => {
        if (result.ok) setView(result.value);
        else if (!signal.aborted) setTrouble(problemText(result.error));
        return undefined;
      });
    }, 150);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
    // A new version is another context.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [client, id, version]);
  return { view, trouble };
}

import { type RereadCost, rereadCost } from "@holdfast/client";
import type { ContextView, SessionView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { useApp, useStore } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import { Dialog } from "../ui/dialog.tsx";
import { modelTitle } from "./group-models.ts";
import { ModelMenu } from "./model-menu.tsx";

interface SessionModelProps {
  readonly session: SessionView;
  readonly onChoose: (model: string | null) => void;
  readonly onShowContext: () => void;
}

interface AskedSwitch {
  readonly model: string | null;
  readonly title: string;
  readonly cost: RereadCost;
}

/** The model of a conversation and how full its context is. Says what a switch costs before it is made. */
export function SessionModel({ session, onChoose, onShowContext }: SessionModelProps) {
  const { models } = useApp();
  const list = useStore(models);
  const context = useContextSize(session);
  const [asked, setAsked] = useState<AskedSwitch | null>(null);
  const t = strings.switching;

  function choose(model: string | null): void {
    const find = (name: string | null) =>
      list?.models.find((candidate) => candidate.name === (name ?? list.usual));
    const [cachedBy, to] = [find(session.model), find(model)];
    const isSame = to?.name === cachedBy?.name;
    const cost = isSame ? null : rereadCost(context?.tokens.total ?? 0, { cachedBy, readBy: to });
    if (cost === null || to === undefined) onChoose(model);
    else setAsked({ model, title: modelTitle(to), cost });
  }

  return (
    <>
      <ModelMenu model={session.model} onChoose={choose} />
      {context !== null && <ContextMeter context={context} onShow={onShowContext} />}
      {asked !== null && (
        <Dialog
          title={t.title(asked.title)}
          confirm={t.confirm}
          onConfirm={() => onChoose(asked.model)}
          onClose={() => setAsked(null)}
        >
          <p>{t.lead(asked.cost)}</p>
        </Dialog>
      )}
    </>
  );
}

const debounceMs = 400;

/** Read again when the conversation has grown and no run is going on. */
function useContextSize({ id, version, liveRun }: SessionView): ContextView | null {
  const { client } = useApp();
  const [context, setContext] = useState<ContextView | null>(null);
  useEffect(() => {
    if (liveRun !== null) return;
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      void client.readContext({ params: { id }, query: { turns: 1 } }).then((result) => {
        if (result.ok && !leaving.signal.aborted) setContext(result.value);
        return undefined;
      });
    }, debounceMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
    // A new version has another context.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [client, id, version, liveRun]);
  return context;
}

interface ContextMeterProps {
  readonly context: Pick<ContextView, "tokens" | "windowTokens">;
  readonly onShow: () => void;
}

const radius = 6;
const circumference = 2 * Math.PI * radius;

function ContextMeter({ context: { tokens, windowTokens }, onShow }: ContextMeterProps) {
  if (windowTokens === null || windowTokens === 0 || tokens.total === 0) return null;
  const share = Math.min(1, tokens.total / windowTokens);
  const label = strings.switching.meter(tokens.total, windowTokens, share);
  return (
    <button
      type="button"
      className={`icon-button context-meter${share > 0.8 ? " full" : ""}`}
      aria-label={label}
      title={label}
      onClick={onShow}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle className="meter-track" cx="8" cy="8" r={radius} />
        <circle
          className="meter-fill"
          cx="8"
          cy="8"
          r={radius}
          strokeDasharray={`${share * circumference} ${circumference}`}
        />
      </svg>
    </button>
  );
}

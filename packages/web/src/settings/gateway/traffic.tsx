import type { GatewayView, OutboxView, SessionId } from "@holdfast/protocol";
import { useApp } from "../../app-context.ts";
import { SessionLink } from "../../sessions/session-link.tsx";
import { formatMoment } from "../../ui/format-time.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import type { RunRequest } from "./gateway.tsx";
import { laneName } from "./lane-name.ts";
import { useSessionTitles } from "../use-titles.ts";

interface OutboxListProps {
  readonly view: GatewayView;
  readonly runRequest: RunRequest;
}

/** Undelivered chunks. P11: a person decides about one that may or may not have arrived. */
export function OutboxList({ view, runRequest }: OutboxListProps) {
  const { outbox } = view;
  const t = strings.gateway;
  const needsDecision = outbox.some(({ state }) => state === "unknown");
  const hint = needsDecision ? t.outboxHint : t.outboxPending;
  return (
    <section className="settings-section">
      <h3>{t.outbox}</h3>
      <p className="quiet">{outbox.length === 0 ? t.outboxEmpty : hint}</p>
      <ul className="facts-list">
        {outbox.map((chunk) => (
          <ChunkRow
            key={`${chunk.delivery} ${chunk.chunk}`}
            chunk={chunk}
            chat={revealInvisible(laneName(chunk.lane, view))}
            runRequest={runRequest}
          />
        ))}
      </ul>
    </section>
  );
}

interface ChunkRowProps {
  readonly chunk: OutboxView;
  readonly chat: string;
  readonly runRequest: RunRequest;
}

function ChunkRow({ chunk: row, chat, runRequest }: ChunkRowProps) {
  const { client } = useApp();
  const t = strings.gateway;
  const { delivery, chunk, state, message, at } = row;
  const params = { delivery, chunk };
  return (
    <li>
      <span className="fact-text">
        <strong>{t.chunk(chat, chunk)}</strong>
        <span className={state === "unknown" ? "trouble" : "quiet"}>{t.chunkState[state]}</span>
        {message !== null && <span className="quiet">{revealInvisible(message)}</span>}
        <span className="quiet">{formatMoment(at)}</span>
      </span>
      {state === "unknown" && (
        <span className="row">
          <button
            type="button"
            className="button"
            onClick={() =>
              runRequest(client.settleChunk({ params, body: { do: "resend" } }), t.resent)
            }
          >
            {t.resend}
          </button>
          <button
            type="button"
            className="button plain"
            onClick={() =>
              runRequest(client.settleChunk({ params, body: { do: "drop" } }), t.dropped)
            }
          >
            {t.drop}
          </button>
        </span>
      )}
    </li>
  );
}

export function LaneList({ view }: { view: GatewayView }) {
  const { lanes } = view;
  const t = strings.gateway;
  const titleOf = useSessionTitles(lanes.map(({ sessionId }): SessionId => sessionId));
  if (lanes.length === 0) return null;
  return (
    <section className="settings-section">
      <h3>{t.lanes}</h3>
      <p className="quiet">{t.lanesHint}</p>
      <ul className="facts-list">
        {lanes.map(({ lane, sessionId, at }) => (
          <li key={lane}>
            <span className="fact-text">
              <strong title={lane}>{revealInvisible(laneName(lane, view))}</strong>
              <span className="quiet">{t.leadsTo(titleOf(sessionId), formatMoment(at))}</span>
            </span>
            <SessionLink id={sessionId} />
          </li>
        ))}
      </ul>
    </section>
  );
}

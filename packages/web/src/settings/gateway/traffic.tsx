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
  readonly ask: RunRequest;
}

/** What is owed to a chat. P11: what may have arrived is a person's decision. */
export function OutboxList({ view, ask }: OutboxListProps) {
  const { outbox } = view;
  const w = strings.gateway;
  const isAsked = outbox.some(({ state }) => state === "unknown");
  const hint = isAsked ? w.outboxHint : w.outboxGoesOn;
  return (
    <section className="settings-part">
      <h3>{w.outbox}</h3>
      <p className="quiet">{outbox.length === 0 ? w.arrived : hint}</p>
      <ul className="facts-list">
        {outbox.map((chunk) => (
          <ChunkRow
            key={`${chunk.delivery} ${chunk.chunk}`}
            chunk={chunk}
            chat={revealInvisible(laneName(chunk.lane, view))}
            ask={ask}
          />
        ))}
      </ul>
    </section>
  );
}

interface ChunkRowProps {
  readonly chunk: OutboxView;
  readonly chat: string;
  readonly ask: RunRequest;
}

function ChunkRow({ chunk: row, chat, ask }: ChunkRowProps) {
  const { client } = useApp();
  const w = strings.gateway;
  const { delivery, chunk, state, message, at } = row;
  const params = { delivery, chunk };
  return (
    <li>
      <span className="fact-text">
        <strong>{w.chunk(chat, chunk)}</strong>
        <span className={state === "unknown" ? "trouble" : "quiet"}>{w.chunkState[state]}</span>
        {message !== null && <span className="quiet">{revealInvisible(message)}</span>}
        <span className="quiet">{formatMoment(at)}</span>
      </span>
      {state === "unknown" && (
        <span className="row">
          <button
            type="button"
            className="button"
            onClick={() => ask(client.settleChunk({ params, body: { do: "resend" } }), w.resent)}
          >
            {w.resend}
          </button>
          <button
            type="button"
            className="button plain"
            onClick={() => ask(client.settleChunk({ params, body: { do: "drop" } }), w.dropped)}
          >
            {w.drop}
          </button>
        </span>
      )}
    </li>
  );
}

export function LaneList({ view }: { view: GatewayView }) {
  const { lanes } = view;
  const w = strings.gateway;
  const titleOf = useSessionTitles(lanes.map(({ sessionId }): SessionId => sessionId));
  if (lanes.length === 0) return null;
  return (
    <section className="settings-part">
      <h3>{w.lanes}</h3>
      <p className="quiet">{w.lanesHint}</p>
      <ul className="facts-list">
        {lanes.map(({ lane, sessionId, at }) => (
          <li key={lane}>
            <span className="fact-text">
              <strong title={lane}>{revealInvisible(laneName(lane, view))}</strong>
              <span className="quiet">{w.leadsTo(titleOf(sessionId), formatMoment(at))}</span>
            </span>
            <SessionLink id={sessionId} />
          </li>
        ))}
      </ul>
    </section>
  );
}

import type { GatewayView, OutboxView, SessionId } from "@holdfast/protocol";
import { useApp } from "../../app-context.ts";
import { SessionLink } from "../../sessions/session-link.tsx";
import { momentOf } from "../../ui/format-time.ts";
import { revealUnseen } from "../../ui/markdown/safe-text.ts";
import { words } from "../../strings/strings.ts";
import type { Ask } from "./gateway.tsx";
import { laneName } from "./lane-name.ts";
import { useTitles } from "../use-titles.ts";

interface OutboxProps {
  readonly view: GatewayView;
  readonly ask: Ask;
}

/** What is owed to a chat. P11: what may have arrived is a person's decision. */
export function Outbox({ view, ask }: OutboxProps) {
  const { outbox } = view;
  const w = words.gateway;
  const isAsked = outbox.some(({ state }) => state === "unknown");
  const hint = isAsked ? w.outboxHint : w.outboxGoesOn;
  return (
    <section className="settings-part">
      <h3>{w.outbox}</h3>
      <p className="quiet">{outbox.length === 0 ? w.arrived : hint}</p>
      <ul className="facts-list">
        {outbox.map((chunk) => (
          <Chunk
            key={`${chunk.delivery} ${chunk.chunk}`}
            chunk={chunk}
            chat={revealUnseen(laneName(chunk.lane, view))}
            ask={ask}
          />
        ))}
      </ul>
    </section>
  );
}

interface ChunkProps {
  readonly chunk: OutboxView;
  readonly chat: string;
  readonly ask: Ask;
}

function Chunk({ chunk: row, chat, ask }: ChunkProps) {
  const { client } = useApp();
  const w = words.gateway;
  const { delivery, chunk, state, message, at } = row;
  const params = { delivery, chunk };
  return (
    <li>
      <span className="fact-text">
        <strong>{w.chunk(chat, chunk)}</strong>
        <span className={state === "unknown" ? "trouble" : "quiet"}>{w.chunkState[state]}</span>
        {message !== null && <span className="quiet">{revealUnseen(message)}</span>}
        <span className="quiet">{momentOf(at)}</span>
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

export function Lanes({ view }: { view: GatewayView }) {
  const { lanes } = view;
  const w = words.gateway;
  const titleOf = useTitles(lanes.map(({ sessionId }): SessionId => sessionId));
  if (lanes.length === 0) return null;
  return (
    <section className="settings-part">
      <h3>{w.lanes}</h3>
      <p className="quiet">{w.lanesHint}</p>
      <ul className="facts-list">
        {lanes.map(({ lane, sessionId, at }) => (
          <li key={lane}>
            <span className="fact-text">
              <strong title={lane}>{revealUnseen(laneName(lane, view))}</strong>
              <span className="quiet">{w.leadsTo(titleOf(sessionId), momentOf(at))}</span>
            </span>
            <SessionLink id={sessionId} />
          </li>
        ))}
      </ul>
    </section>
  );
}

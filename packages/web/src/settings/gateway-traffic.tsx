import type { GatewayView, OutboxView } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { momentOf, revealUnseen } from "../ui/index.ts";
import { words } from "../words.ts";
import type { Ask } from "./gateway.tsx";
import { SessionLink } from "./part.tsx";

interface OutboxProps {
  readonly view: GatewayView;
  readonly ask: Ask;
}

/** What is owed to a chat. P11: what may have arrived is a person's decision. */
export function Outbox({ view: { outbox }, ask }: OutboxProps) {
  const w = words.gateway;
  const isAsked = outbox.some(({ state }) => state === "unknown");
  const hint = isAsked ? w.outboxHint : w.outboxGoesOn;
  return (
    <section className="settings-part">
      <h3>{w.outbox}</h3>
      <p className="quiet">{outbox.length === 0 ? w.arrived : hint}</p>
      <ul className="facts-list">
        {outbox.map((chunk) => (
          <Chunk key={`${chunk.delivery} ${chunk.chunk}`} chunk={chunk} ask={ask} />
        ))}
      </ul>
    </section>
  );
}

function Chunk({ chunk: row, ask }: { chunk: OutboxView; ask: Ask }) {
  const { client } = useApp();
  const w = words.gateway;
  const { delivery, chunk, lane, state, message, at } = row;
  const params = { delivery, chunk };
  return (
    <li>
      <span className="fact-text">
        <strong>{w.chunk(lane, chunk)}</strong>
        <span className={state === "unknown" ? "trouble" : "quiet"}>{w.chunkState[state]}</span>
        <span className="quiet">
          {message === null ? momentOf(at) : `${revealUnseen(message)}, ${momentOf(at)}`}
        </span>
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

export function Lanes({ view: { lanes } }: { view: GatewayView }) {
  const w = words.gateway;
  if (lanes.length === 0) return null;
  return (
    <section className="settings-part">
      <h3>{w.lanes}</h3>
      <p className="quiet">{w.lanesHint}</p>
      <ul className="facts-list">
        {lanes.map(({ lane, sessionId, at }) => (
          <li key={lane}>
            <span>
              <strong>{lane}</strong> <span className="quiet">{momentOf(at)}</span>
            </span>
            <SessionLink id={sessionId} />
          </li>
        ))}
      </ul>
    </section>
  );
}

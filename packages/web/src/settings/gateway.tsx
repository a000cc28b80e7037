import type { GatewayView, Result } from "@holdfast/protocol";
import { sentenceOf, useApp } from "../app-context.ts";
import { CopyButton, momentOf, revealUnseen } from "../ui/index.ts";
import { words } from "../words.ts";
import { Lanes, Outbox } from "./gateway-traffic.tsx";
import { Facts, Part } from "./part.tsx";
import { useEvery, useRead } from "./use-read.ts";

/** Does what was asked for, says what became of it, and looks again. */
export type Ask = (asked: Promise<Result<unknown>>, done: string) => void;

/** The chat bot: how it stands, who may speak to it, and what it still owes. */
export function Gateway() {
  const { client, toasts } = useApp();
  const [read, again] = useRead(() => client.readGateway());
  useEvery(3_000, again);
  async function settle(asked: Promise<Result<unknown>>, done: string): Promise<void> {
    const result = await asked;
    toasts.tell(result.ok ? done : sentenceOf(result.error));
    again();
  }
  const ask: Ask = (asked, done) => void settle(asked, done);
  return (
    <>
      <Part title={words.gateway.title} read={read}>
        {(view) => <Bot view={view} />}
      </Part>
      {read.kind === "read" && read.value.state !== "off" && (
        <>
          <Requests view={read.value} ask={ask} />
          <People view={read.value} ask={ask} />
          <Outbox view={read.value} ask={ask} />
          <Lanes view={read.value} />
        </>
      )}
    </>
  );
}

function Bot({ view: { state, platform, bot, trouble } }: { view: GatewayView }) {
  const w = words.gateway;
  return (
    <>
      <Facts
        all={[
          [words.settings.status, w.state[state]],
          ...(bot === null
            ? []
            : [[platform ?? w.title, revealUnseen(`${bot.name} (${bot.id})`)] as const]),
        ]}
      />
      {trouble !== null && (
        <p className="trouble">{`${revealUnseen(trouble.message)} (${trouble.code})`}</p>
      )}
      {state === "off" && <HowToConnect />}
    </>
  );
}

function HowToConnect() {
  const w = words.gateway;
  const [first, second, third] = w.steps;
  return (
    <section className="callout calm steps">
      <h4>{w.connect}</h4>
      <ol>
        <li>{first}</li>
        <li>
          {second}
          <span className="sample-line">
            <code dir="ltr">{w.command}</code>
            <CopyButton text={w.command} label={w.copyCommand} />
          </span>
        </li>
        <li>{third}</li>
      </ol>
    </section>
  );
}

interface PeopleProps {
  readonly view: GatewayView;
  readonly ask: Ask;
}

function Requests({ view: { requests }, ask }: PeopleProps) {
  const { client } = useApp();
  const w = words.gateway;
  return (
    <section className="settings-part">
      <h3>{w.requests}</h3>
      <p className="quiet">{requests.length === 0 ? w.noRequests : w.requestsHint}</p>
      <ul className="facts-list">
        {requests.map(({ person, name: given, code, askedAt }) => {
          const name = revealUnseen(given);
          const params = { code };
          return (
            <li key={person}>
              <span className="fact-text">
                <strong>{name}</strong>
                <span className="quiet">{w.asked(code, momentOf(askedAt))}</span>
              </span>
              <span className="row">
                <button
                  type="button"
                  className="button primary"
                  aria-label={w.allowNamed(name)}
                  onClick={() =>
                    ask(
                      client.decidePairing({ params, body: { decision: "allow" } }),
                      w.allowed(name),
                    )
                  }
                >
                  {w.allow}
                </button>
                <button
                  type="button"
                  className="button"
                  aria-label={w.denyNamed(name)}
                  onClick={() =>
                    ask(
                      client.decidePairing({ params, body: { decision: "deny" } }),
                      w.denied(name),
                    )
                  }
                >
                  {w.deny}
                </button>
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function People({ view: { people }, ask }: PeopleProps) {
  const { client } = useApp();
  const w = words.gateway;
  if (people.length === 0) return null;
  return (
    <section className="settings-part">
      <h3>{w.people}</h3>
      <ul className="facts-list">
        {people.map(({ person, name: given, state }) => {
          const name = revealUnseen(given);
          const isAllowed = state === "allowed";
          const decision = isAllowed ? "deny" : "allow";
          const change = () =>
            ask(
              client.changePerson({ params: { person }, body: { decision } }),
              isAllowed ? w.denied(name) : w.allowed(name),
            );
          return (
            <li key={person}>
              <span>
                <strong>{name}</strong> <span className="quiet">{w.mayGo[state]}</span>
              </span>
              <button
                type="button"
                className="button"
                aria-label={isAllowed ? w.denyNamed(name) : w.allowNamed(name)}
                onClick={change}
              >
                {isAllowed ? w.deny : w.allow}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

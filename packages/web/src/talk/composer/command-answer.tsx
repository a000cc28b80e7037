import {
  type CommandAnswer,
  describeAlternatives,
  describeFact,
  describeSchedule,
  describeSpendLimit,
} from "@holdfast/client";
import { commandUsage, modeWords, type SessionId, type UsageTotalsView } from "@holdfast/protocol";
import { problemText, useApp } from "../../app-context.ts";
import { RereadHint } from "../../context/reread-hint.tsx";
import { sessionTitle } from "../../sessions/session-actions.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { formatMoment } from "../../ui/format-time.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { linkProps } from "../../router/router.ts";
import { routeOfHit } from "../../sessions/search-results.tsx";
import { strings } from "../../strings/strings.ts";
import { BackgroundProcesses } from "../run-status.tsx";

/** Answers that are shown in a dialog. Changes show up in the page anyway. */
export type ShownAnswer = Extract<
  CommandAnswer,
  {
    kind:
      | "help"
      | "sessions"
      | "hits"
      | "model"
      | "mode"
      | "persona"
      | "project"
      | "skills"
      | "agents"
      | "memory"
      | "usage"
      | "limits"
      | "status"
      | "inbox"
      | "alternatives"
      | "schedules"
      | "processes"
      | "title";
  }
>;

export function isShownAnswer(answer: CommandAnswer): answer is ShownAnswer {
  const kinds = [
    "help",
    "sessions",
    "hits",
    "model",
    "mode",
    "persona",
    "project",
    "skills",
    "agents",
    "memory",
    "usage",
    "limits",
    "status",
    "inbox",
    "alternatives",
    "schedules",
    "processes",
    "title",
  ];
  return kinds.includes(answer.kind);
}

export function AnswerDialog({ answer, onClose }: { answer: ShownAnswer; onClose: () => void }) {
  return (
    <Dialog title={strings.command.title[answer.kind]} onClose={onClose}>
      <div className="answer">
        <AnswerBody answer={answer} onClose={onClose} />
      </div>
    </Dialog>
  );
}

function AnswerBody({ answer, onClose }: { answer: ShownAnswer; onClose: () => void }) {
  const { client, list, router, toasts } = useApp();

  async function change(
    id: SessionId,
    body: { readonly persona: string } | { readonly project: string | null },
  ): Promise<void> {
    const changed = await client.changeSession({ params: { id }, body });
    const { persona_chosen, project_chosen } = strings.command.changed;
    const done = "persona" in body ? persona_chosen : project_chosen;
    toasts.show(changed.ok ? done : problemText(changed.error));
    list.changed();
  }

  switch (answer.kind) {
    case "help":
      return (
        <dl className="facts">
          {answer.commands.map((command) => (
            <Fact key={command.name} name={commandUsage(command)} value={command.help} />
          ))}
        </dl>
      );
    case "sessions":
      return answer.sessions.length === 0 ? (
        <p className="quiet">{strings.sessions.noHits}</p>
      ) : (
        <ChoiceList
          choices={answer.sessions.map((session) => ({
            key: session.id,
            text: sessionTitle(session),
            onChoose: () => router.go({ kind: "session", id: session.id, at: null }),
          }))}
          onClose={onClose}
        />
      );
    case "hits":
      return answer.hits.length === 0 ? (
        <p className="quiet">{strings.sessions.noHits}</p>
      ) : (
        <ChoiceList
          choices={answer.hits.map((hit) => ({
            key: `${hit.sessionId} ${hit.seq}`,
            text:
              hit.alternative === undefined
                ? hit.snippet
                : `${strings.sessions.otherVersion}: ${hit.snippet}`,
            onChoose: () => router.go(routeOfHit(hit, answer.words)),
          }))}
          onClose={onClose}
        />
      );
    case "model":
      return (
        <p>
          {answer.model ?? strings.composer.defaultModel}
          {answer.models.length > 0 && <span className="quiet"> {answer.models.join(", ")}</span>}
        </p>
      );
    case "mode":
      return (
        <p>
          <strong>{modeWords[answer.mode].label}</strong>{" "}
          <span className="quiet">{modeWords[answer.mode].help}</span>
        </p>
      );
    case "persona":
      return (
        <>
          {answer.sessionId !== null && <RereadHint id={answer.sessionId} />}
          <ChoiceList
            choices={answer.personas.map((persona) => ({
              key: persona.id,
              text: revealInvisible(
                persona.id === answer.current
                  ? strings.personas.current(persona.name)
                  : persona.name,
              ),
              onChoose: () =>
                answer.sessionId !== null && void change(answer.sessionId, { persona: persona.id }),
            }))}
            onClose={onClose}
          />
        </>
      );
    case "project":
      return (
        <>
          <RereadHint id={answer.sessionId} />
          <ChoiceList
            choices={[null, ...answer.projects.map(({ name }) => name)].map((project) => {
              const name = project === null ? strings.projects.none : revealInvisible(project);
              return {
                key: project ?? "",
                text: project === answer.current ? strings.projects.current(name) : name,
                onChoose: () => void change(answer.sessionId, { project }),
              };
            })}
            onClose={onClose}
          />
        </>
      );
    case "skills":
      return (
        <>
          {answer.skills.length === 0 && <p className="quiet">{strings.skills.noneHere}</p>}
          <ul>
            {answer.skills.map(({ name, description }) => (
              <li key={name} dir="auto">
                <code>/{name}</code> {revealInvisible(description)}
              </li>
            ))}
          </ul>
          {answer.waiting > 0 && <p className="quiet">{strings.skills.waiting(answer.waiting)}</p>}
        </>
      );
    case "agents":
      return (
        <>
          {answer.agents.length === 0 && <p className="quiet">{strings.agents.noneHere}</p>}
          <ul>
            {answer.agents.map(({ name, description }) => (
              <li key={name} dir="auto">
                <code>{name}</code> {revealInvisible(description)}
              </li>
            ))}
          </ul>
          {answer.waiting > 0 && <p className="quiet">{strings.agents.waiting(answer.waiting)}</p>}
        </>
      );
    case "title":
      return <p>{answer.title ?? strings.sessions.untitled}</p>;
    case "memory":
      return (
        <>
          <ul>
            {answer.facts.map((fact) => (
              <li key={fact.id} dir="auto">
                {revealInvisible(describeFact(fact))}
              </li>
            ))}
          </ul>
          <p>
            <a
              {...linkProps(router, { kind: "settings", section: "memory" })}
              onClickCapture={onClose}
            >
              {strings.command.allFacts(answer.total)}
            </a>
          </p>
          <dl className="facts">
            <Fact name={strings.command.turns} value={String(answer.turns)} />
            <Fact name={strings.command.sessions} value={String(answer.sessions)} />
            {answer.failing !== null && (
              <Fact name={strings.command.failing} value={answer.failing.message} />
            )}
          </dl>
        </>
      );
    case "usage":
      return (
        <dl className="facts">
          {answer.session !== null && (
            <Fact name={strings.command.here} value={formatUsage(answer.session)} />
          )}
          <Fact name={strings.command.today} value={formatUsage(answer.today)} />
          <Fact name={strings.command.ever} value={formatUsage(answer.all)} />
        </dl>
      );
    case "limits":
      return (
        <ul className="facts-list">
          {answer.limits.map((limit) => (
            <li key={limit.scope}>{describeSpendLimit(limit)}</li>
          ))}
        </ul>
      );
    case "status":
      return (
        <dl className="facts">
          <Fact name={strings.command.run} value={answer.run?.state ?? strings.command.none} />
          <Fact name={strings.queue.label} value={String(answer.inbox.length)} />
          <Fact name={strings.settings.openApprovals} value={String(answer.approvals.length)} />
          <Fact name={strings.command.messages} value={String(answer.session.messageCount)} />
          <Fact name={strings.command.since} value={formatMoment(answer.session.createdAt)} />
        </dl>
      );
    case "schedules":
      return answer.schedules.length === 0 ? (
        <p className="quiet">{strings.command.nothingScheduled}</p>
      ) : (
        <ol>
          {answer.schedules.map((schedule) => (
            <li key={schedule.id}>{describeSchedule(schedule)}</li>
          ))}
        </ol>
      );
    case "processes":
      return <BackgroundProcesses processes={answer.processes} />;
    case "alternatives":
      return answer.turns.length === 0 ? (
        <p className="quiet">{strings.command.oneVersion}</p>
      ) : (
        describeAlternatives(answer.turns).map((rows, turn) => (
          <ul key={turn}>
            {rows.map((row) => (
              <li key={row}>{row}</li>
            ))}
          </ul>
        ))
      );
    case "inbox":
      return answer.inbox.length === 0 ? (
        <p className="quiet">{strings.command.nothingWaits}</p>
      ) : (
        <ol>
          {answer.inbox.map(({ messageId, text }) => (
            <li key={messageId}>{text}</li>
          ))}
        </ol>
      );
  }
}

function formatUsage({ input, output, costMicros }: UsageTotalsView): string {
  return strings.command.tokens(input, output, costMicros);
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

interface AnswerChoice {
  readonly key: string;
  readonly text: string;
  readonly onChoose: () => void;
}

function ChoiceList({
  choices,
  onClose,
}: {
  choices: readonly AnswerChoice[];
  onClose: () => void;
}) {
  return (
    <ul>
      {choices.map(({ key, text, onChoose }) => (
        <li key={key}>
          <button
            type="button"
            className="menu-item"
            onClick={() => {
              onClose();
              onChoose();
            }}
          >
            {text}
          </button>
        </li>
      ))}
    </ul>
  );
}

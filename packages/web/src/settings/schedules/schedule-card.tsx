import type { ScheduleView, SessionId } from "@holdfast/protocol";
import { useState } from "react";
import { useApp } from "../../app-context.ts";
import { linkTo } from "../../router/link-to.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Menu } from "../../ui/menu.tsx";
import { revealUnseen } from "../../ui/markdown/safe-text.ts";
import { words } from "../../strings/strings.ts";
import { type Known, laneName } from "../gateway/lane-name.ts";
import { Facts } from "../part.tsx";
import { isTrouble, nextInWords, outcomeInWords, ownZone, whenInWords } from "./format-schedule.ts";

interface ScheduleCardProps {
  readonly schedule: ScheduleView;
  readonly known: Known;
  readonly titleOfSession: (id: SessionId) => string;
  readonly onRun: () => void;
  readonly onTurn: () => void;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}

const w = words.schedules;

export function ScheduleCard(props: ScheduleCardProps) {
  const { schedule, known, titleOfSession, onRun, onTurn, onEdit, onRemove } = props;
  const { title, prompt, state, timeZone, target, missed, recent, nextAt } = schedule;
  const [asking, setAsking] = useState(false);
  const isOn = state === "on";
  const when = whenInWords(schedule);
  const [last] = recent;
  return (
    <li className="provider">
      <div className="row schedule-head">
        <span className={isOn && nextAt !== null ? "dot" : "dot off"} />
        <strong className="schedule-title">{title}</strong>
        <span className="spread" />
        <button type="button" className="button" aria-label={w.runNamed(title)} onClick={onRun}>
          <Icon name="play" />
          {w.runNow}
        </button>
        <Menu
          label={w.more(title)}
          items={[
            { label: isOn ? w.pause : w.resume, icon: isOn ? "stop" : "play", onChoose: onTurn },
            { label: w.edit, icon: "edit", onChoose: onEdit },
            "line",
            {
              label: w.remove,
              icon: "trash",
              tone: "warn",
              onChoose: () => setAsking(true),
            },
          ]}
        >
          <Icon name="more" />
        </Menu>
      </div>
      <p className="schedule-prompt" dir="auto">
        {prompt}
      </p>
      <Facts
        all={[
          [w.facts.when, timeZone === ownZone() ? when : w.zone(when, timeZone)],
          [w.facts.next, nextInWords(schedule)],
          [
            w.facts.where,
            "lane" in target ? (
              revealUnseen(laneName(target.lane, known))
            ) : (
              <Conversation
                key="where"
                id={target.sessionId}
                title={titleOfSession(target.sessionId)}
              />
            ),
          ],
          [w.facts.missed, w.missed[missed]],
          ...(last === undefined
            ? []
            : [
                [
                  w.facts.last,
                  <span key="last" className={isTrouble(last) ? "trouble" : undefined}>
                    {outcomeInWords(last)}
                  </span>,
                ] as const,
              ]),
        ]}
      />
      {recent.length > 1 && <History recent={recent} />}
      {asking && (
        <Dialog
          title={w.removeAsk(title)}
          confirm={w.remove}
          tone="warn"
          onConfirm={onRemove}
          onClose={() => setAsking(false)}
        >
          <p>{w.removeLead}</p>
        </Dialog>
      )}
    </li>
  );
}

function History({ recent }: Pick<ScheduleView, "recent">) {
  return (
    <details className="fold">
      <summary>{w.history(recent.length)}</summary>
      <ol className="schedule-history">
        {recent.map((each) => (
          <li key={`${each.occurrence} ${each.at}`}>
            <span className={isTrouble(each) ? "trouble" : undefined}>{outcomeInWords(each)}</span>{" "}
            {each.sessionId !== undefined && <Conversation id={each.sessionId} title={w.look} />}
          </li>
        ))}
      </ol>
    </details>
  );
}

function Conversation({ id, title }: { id: SessionId; title: string }) {
  const { router } = useApp();
  return <a {...linkTo(router, { kind: "session", id, at: null })}>{title}</a>;
}

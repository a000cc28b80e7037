import type { ScheduleView, SessionId, UsageGroupView } from "@holdfast/protocol";
import { useState } from "react";
import { useApp } from "../../app-context.ts";
import { linkProps } from "../../router/router.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Menu } from "../../ui/menu.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { type KnownNames, laneName } from "../gateway/lane-name.ts";
import { FactList } from "../settings-group.tsx";
import {
  isFailedOutcome,
  describeNext,
  describeOutcome,
  describeSpending,
  localTimeZone,
  describeTimes,
} from "./format-schedule.ts";

interface ScheduleCardProps {
  readonly schedule: ScheduleView;
  readonly knownNames: KnownNames;
  /** What it used in the last days; `null` if nothing is known of it. */
  readonly cost: Pick<UsageGroupView, "input" | "output" | "costMicros" | "calls"> | null;
  readonly titleOfSession: (id: SessionId) => string;
  readonly onRun: () => void;
  readonly onSetState: () => void;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}

const texts = strings.schedules;

export function ScheduleCard(props: ScheduleCardProps) {
  const { schedule, knownNames, cost, titleOfSession, onRun, onSetState, onEdit, onRemove } = props;
  const { title, prompt, state, timeZone, target, missed, report, maker, recent, nextAt } =
    schedule;
  const { spendLimit, spending } = schedule;
  const [isConfirming, setIsConfirming] = useState(false);
  const isOn = state === "on";
  const when = describeTimes(schedule);
  const [last] = recent;
  return (
    <li className="settings-card">
      <div className="row schedule-head">
        <span className={isOn && nextAt !== null ? "dot" : "dot off"} />
        <strong className="schedule-title">{title}</strong>
        <span className="spacer" />
        <button type="button" className="button" aria-label={texts.runNamed(title)} onClick={onRun}>
          <Icon name="play" />
          {texts.runNow}
        </button>
        <Menu
          label={texts.more(title)}
          items={[
            {
              label: isOn ? texts.pause : texts.resume,
              icon: isOn ? "stop" : "play",
              onChoose: onSetState,
            },
            { label: texts.edit, icon: "edit", onChoose: onEdit },
            "line",
            {
              label: texts.remove,
              icon: "trash",
              tone: "warn",
              onChoose: () => setIsConfirming(true),
            },
          ]}
        >
          <Icon name="more" />
        </Menu>
      </div>
      <p className="schedule-prompt" dir="auto">
        {prompt}
      </p>
      <FactList
        facts={[
          [texts.facts.when, timeZone === localTimeZone() ? when : texts.zone(when, timeZone)],
          [texts.facts.next, describeNext(schedule)],
          [
            texts.facts.where,
            "lane" in target ? (
              revealInvisible(laneName(target.lane, knownNames))
            ) : (
              <SessionTitleLink
                key="where"
                id={target.sessionId}
                title={titleOfSession(target.sessionId)}
              />
            ),
          ],
          ...(report === "changes" ? [[texts.facts.report, texts.report.changes] as const] : []),
          [texts.facts.missed, texts.missed[missed]],
          ...(spendLimit == null || spending === undefined
            ? []
            : [[texts.facts.limit, describeSpending(schedule)] as const]),
          ...(cost === null ? [] : [[texts.facts.cost, texts.cost(cost)] as const]),
          ...(maker === undefined
            ? []
            : [
                [
                  texts.facts.maker,
                  texts.maker(revealInvisible(laneName(maker.lane, knownNames)), maker.profile),
                ] as const,
              ]),
          ...(last === undefined
            ? []
            : [
                [
                  texts.facts.last,
                  <span key="last" className={isFailedOutcome(last) ? "trouble" : undefined}>
                    {describeOutcome(last)}
                  </span>,
                ] as const,
              ]),
        ]}
      />
      {recent.length > 1 && <OccurrenceHistory recent={recent} />}
      {isConfirming && (
        <Dialog
          title={texts.removeAsk(title)}
          confirm={texts.remove}
          tone="warn"
          onConfirm={onRemove}
          onClose={() => setIsConfirming(false)}
        >
          <p>{texts.removeLead}</p>
        </Dialog>
      )}
    </li>
  );
}

function OccurrenceHistory({ recent }: Pick<ScheduleView, "recent">) {
  return (
    <details className="fold">
      <summary>{texts.history(recent.length)}</summary>
      <ol className="schedule-history">
        {recent.map((occurrence) => (
          <li key={`${occurrence.occurrence} ${occurrence.at}`}>
            <span className={isFailedOutcome(occurrence) ? "trouble" : undefined}>
              {describeOutcome(occurrence)}
            </span>{" "}
            {occurrence.sessionId !== undefined && (
              <SessionTitleLink id={occurrence.sessionId} title={texts.openSession} />
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}

function SessionTitleLink({ id, title }: { id: SessionId; title: string }) {
  const { router } = useApp();
  return <a {...linkProps(router, { kind: "session", id, at: null })}>{title}</a>;
}

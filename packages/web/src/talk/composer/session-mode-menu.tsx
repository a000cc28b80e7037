import { modeWords, sessionMode, type SessionMode } from "@holdfast/protocol";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { Menu } from "../../ui/menu.tsx";
import { strings } from "../../strings/strings.ts";

interface SessionModeMenuProps {
  readonly mode: SessionMode;
  readonly onChoose: (mode: SessionMode) => void;
}

const icons: Readonly<Record<SessionMode, IconName>> = {
  plan: "list",
  ask: "shield",
  edits: "edit",
  full: "terminal",
};

/** What the agent may do without asking. Always in view, and marked where it is more or less than usual. */
export function SessionModeMenu({ mode, onChoose }: SessionModeMenuProps) {
  const { label } = modeWords[mode];
  const shown = strings.composer.sessionModeIs(label);
  return (
    <Menu
      label={strings.composer.sessionMode}
      visibleLabel={shown}
      className={`button plain session-mode ${mode}`}
      items={sessionMode.options.map((option) => ({
        label: modeWords[option].label,
        hint: modeWords[option].help,
        icon: icons[option],
        checked: option === mode,
        onChoose: () => onChoose(option),
      }))}
    >
      <Icon name={icons[mode]} />
      <span className="wide-only">{shown}</span>
      <span className="narrow-only">{label}</span>
    </Menu>
  );
}

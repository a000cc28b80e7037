import type { ProjectView } from "@holdfast/protocol";
import { strings } from "../../strings/strings.ts";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { Menu } from "../../ui/menu.tsx";

interface ProjectMenuProps {
  readonly projects: readonly ProjectView[];
  /** The name of one; `null`: none. */
  readonly project: string | null;
  readonly onChoose: (project: string | null) => void;
}

/** Chooses the project that a new conversation belongs to, if there is one. */
export function ProjectMenu({ projects, project, onChoose }: ProjectMenuProps) {
  if (projects.length === 0) return null;
  const shown = project === null ? strings.projects.none : revealInvisible(project);
  return (
    <Menu
      label={strings.projects.menu}
      visibleLabel={shown}
      className="button plain folder-menu"
      items={[
        {
          label: strings.projects.none,
          icon: "close",
          checked: project === null,
          onChoose: () => onChoose(null),
        },
        ...projects.map(({ name }) => ({
          label: revealInvisible(name),
          icon: "window" as const,
          checked: name === project,
          onChoose: () => onChoose(name),
        })),
      ]}
    >
      <Icon name="window" />
      <span>{shown}</span>
    </Menu>
  );
}

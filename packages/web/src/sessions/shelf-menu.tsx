import { useApp, useStore } from "../app-context.ts";
import { Icon } from "../ui/icons.tsx";
import { Menu, type MenuEntry } from "../ui/menu.tsx";
import { strings } from "../strings/strings.ts";
import { useProjects } from "./use-projects.ts";
import type { ListFilter, ShelfName } from "./session-list-store.ts";

const shelves: readonly ShelfName[] = ["active", "archived", "trash"];
const icons = { active: "list", archived: "archive", trash: "trash" } as const;

/** Filters the list by shelf, project or tag. */
export function ShelfMenu() {
  const { list } = useApp();
  const { filter, sessions } = useStore(list);
  const loaded = sessions ?? [];
  const known = useProjects().map(({ name }) => name);
  const named = loaded.flatMap(({ project }) => project ?? []);
  const projects = [...new Set([...known, ...named])].toSorted();
  const tags = [...new Set(loaded.flatMap((session) => session.tags))].toSorted();
  const noFilter: ListFilter = { shelf: "active", project: null, tag: null };
  const items: MenuEntry[] = shelves.map((shelf) => ({
    label: strings.sessions.shelves[shelf],
    icon: icons[shelf],
    checked: filter.shelf === shelf && filter.project === null && filter.tag === null,
    onChoose: () => list.choose({ ...noFilter, shelf }),
  }));
  if (projects.length + tags.length > 0) items.push("line");
  for (const project of projects)
    items.push({
      label: project,
      icon: "window",
      checked: filter.project === project,
      onChoose: () => list.choose({ ...noFilter, project }),
    });
  for (const tag of tags)
    items.push({
      label: tag,
      icon: "tag",
      checked: filter.tag === tag,
      onChoose: () => list.choose({ ...noFilter, tag }),
    });
  return (
    <Menu
      label={strings.sessions.shelf}
      visibleLabel={filterName(filter)}
      className="shelf-menu"
      items={items}
    >
      <span>{filterName(filter)}</span>
      <Icon name="chevron" />
    </Menu>
  );
}

function filterName({ shelf, project, tag }: ListFilter): string {
  if (project !== null) return strings.sessions.project(project);
  if (tag !== null) return strings.sessions.tag(tag);
  return strings.sessions.shelves[shelf];
}

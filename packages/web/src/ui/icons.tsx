/** Every icon of the page, drawn with one stroke on a grid of 20. */
const iconPaths = {
  add: "M10 4v12M4 10h12",
  archive: "M3.5 4h13v3.5h-13zM5 7.5V16h10V7.5M8 10.5h4",
  attach:
    "M15.5 9.5l-5.6 5.6a3.6 3.6 0 0 1-5.1-5.1l6-6a2.4 2.4 0 0 1 3.4 3.4l-5.9 5.9a1.2 1.2 0 0 1-1.7-1.7l5.2-5.2",
  back: "M12 4.5L6.5 10l5.5 5.5",
  branch:
    "M6 3.5a1.5 1.5 0 1 0 .01 0M6 13.5a1.5 1.5 0 1 0 .01 0M14 4.5a1.5 1.5 0 1 0 .01 0M6 6.5v7M14 7.5c0 3.5-8 2-8 5",
  check: "M4.5 10.5l3.5 3.5 7.5-8",
  chevron: "M5 7.5l5 5 5-5",
  clock: "M10 3.5a6.5 6.5 0 1 0 .01 0M10 6.5V10l2.5 1.5",
  close: "M5 5l10 10M15 5L5 15",
  command:
    "M7.5 7.5h5v5h-5zM7.5 7.5H6a2 2 0 1 1 1.5-1.9zM12.5 7.5V6a2 2 0 1 1 1.9 1.5zM12.5 12.5H14a2 2 0 1 1-1.5 1.9zM7.5 12.5V14a2 2 0 1 1-1.9-1.5z",
  copy: "M7.5 7.5h8v8h-8zM12.5 7.5v-3h-8v8h3",
  download: "M10 3.5v9M6.5 9l3.5 3.5L13.5 9M4 16h12",
  down: "M10 4v12M5 11l5 5 5-5",
  edit: "M4 16l.8-3.3L13 4.5l2.5 2.5-8.2 8.2zM11.5 6l2.5 2.5",
  file: "M5.5 3.5h6l3 3v10h-9zM11.5 3.5v3h3",
  folder: "M3.5 5.5h4.5l1.5 2h7v8.5h-13z",
  chart: "M4 16V9M8 16V4M12 16v-5M16 16V7",
  gauge: "M4 14.5a7 7 0 1 1 12 0M10 11.5l3-3.5",
  interrupt: "M11 3.5L5 11.5h4.5l-.5 5 6-8h-4.5z",
  key: "M12.5 11.5a3.5 3.5 0 1 0-3.4-2.6L4 14v2h2v-1.5h1.5V13H9l1-1",
  link: "M8.5 11.5l3-3M9 6.5l1.8-1.8a3 3 0 0 1 4.5 4.5L13.5 11M11 13.5l-1.8 1.8a3 3 0 0 1-4.5-4.5L6.5 9",
  list: "M4 6h12M4 10h12M4 14h8",
  memory: "M5 4.5h10v11l-5-3-5 3z",
  menu: "M3.5 5.5h13M3.5 10h13M3.5 14.5h13",
  moon: "M15.5 12A6.5 6.5 0 0 1 8 4.5a6 6 0 1 0 7.5 7.5z",
  more: "M4.5 9.5a.5.5 0 1 0 .01 0M10 9.5a.5.5 0 1 0 .01 0M15.5 9.5a.5.5 0 1 0 .01 0",
  pin: "M8 3.5h4l-.5 5 2.5 2.5H6l2.5-2.5zM10 11v5.5",
  play: "M6.5 4.5v11l9-5.5z",
  plug: "M7.5 3.5v4M12.5 3.5v4M5.5 7.5h9v2.5a4.5 4.5 0 0 1-9 0zM10 14.5v2.5",
  queue: "M4 5.5h12M4 10h8M4 14.5h5M14 12.5v4M12 14.5h4",
  recorder: "M3.5 6h5M3.5 10h9M8.5 14h8M14 6h2.5",
  redo: "M15.5 8H8a4 4 0 0 0 0 8h3M12.5 5l3 3-3 3",
  refresh: "M15.5 6.5V10H12M15.3 10A5.6 5.6 0 1 0 14 13.8",
  search: "M9 4a5 5 0 1 0 .01 0M12.7 12.7L16.5 16.5",
  send: "M10 16V4.5M5 9.5l5-5 5 5",
  settings:
    "M10 7.5a2.5 2.5 0 1 0 .01 0M10 3v2M10 15v2M3 10h2M15 10h2M5.05 5.05l1.4 1.4M13.55 13.55l1.4 1.4M5.05 14.95l1.4-1.4M13.55 6.45l1.4-1.4",
  shield: "M10 3.5l5.5 2v4c0 3.5-2.3 5.8-5.5 7-3.2-1.2-5.5-3.5-5.5-7v-4z",
  sidebar: "M3.5 4.5h13v11h-13zM8 4.5v11",
  signOut: "M8 4H4.5v12H8M8 10h8.5M13.5 7l3 3-3 3",
  steer: "M4 15.5c0-5 3-7.5 8-7.5h3.5M12.5 5l3 3-3 3",
  stop: "M6 6h8v8H6z",
  sun: "M10 7a3 3 0 1 0 .01 0M10 2.5v1.5M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1M14.3 14.3l1 1M4.7 15.3l1-1M14.3 5.7l1-1",
  tag: "M4 4.5h5.5l6.5 6.5-5 5L4.5 9.5zM7.2 7.2h.01",
  terminal: "M4.5 6l4 4-4 4M10 14h5.5",
  thought: "M10 4a5.5 5 0 0 1 0 10H8.5L6 16.5v-3A5 5 0 0 1 10 4zM7.5 9h.01M10 9h.01M12.5 9h.01",
  trash: "M4 6h12M8 6V4h4v2M5.5 6l.7 10h7.6l.7-10M8.5 9v4.5M11.5 9v4.5",
  undo: "M4.5 8H12a4 4 0 0 1 0 8H9M7.5 5l-3 3 3 3",
  up: "M10 16V4M5 9l5-5 5 5",
  unpin: "M8 3.5h4l-.5 5 2.5 2.5H6l2.5-2.5zM10 11v5.5M3.5 3.5l13 13",
  upload: "M10 12.5v-9M6.5 7L10 3.5 13.5 7M4 16h12",
  warning: "M10 4l7 12H3zM10 8.5v3.5M10 14h.01",
  window: "M3.5 4.5h13v11h-13zM3.5 8h13",
} as const;

export type IconName = keyof typeof iconPaths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={iconPaths[name]} />
    </svg>
  );
}

/** A holdfast, the organ by which seaweed grips rock. */
export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" fill="currentColor" aria-hidden="true">
      <path d="M2 29c3-6 8-8.5 14-8.5S27 23 30 29z" opacity=".2" />
      <path
        d="M16 19c-1-4 1.5-6 .5-10M16 18.5c-1 4-5.5 3.5-8.5 8M16 18.5c0 4-2 5-3 8.5M16 18.5c0 4 2 5 3 8.5M16 18.5c1 4 5.5 3.5 8.5 8"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.8"
        strokeLinecap="round"
      />
      <path d="M16.5 10c-2.5-2.5-2-6 .5-8.5 2 3 2 6-.5 8.5z" />
      <path d="M16.6 13.5c.7-3 3.4-5 7.4-4.8-1 3.3-4 5-7.4 4.8z" />
      <path d="M15.8 16.3c-.6-3-3.3-5-7.3-4.8 1 3.3 3.9 5 7.3 4.8z" />
    </svg>
  );
}

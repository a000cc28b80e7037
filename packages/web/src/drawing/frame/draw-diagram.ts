import mermaid from "mermaid";

interface DiagramImage {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
  readonly title: string;
}

/** The colours of `tokens.css`, which the frame cannot read. */
const colours = {
  light: {
    background: "#ffffff",
    primaryColor: "#e0eee9",
    primaryTextColor: "#1d2624",
    primaryBorderColor: "#1f6a5c",
    lineColor: "#55605d",
    secondaryColor: "#f4f2ec",
    tertiaryColor: "#faf1dc",
    edgeLabelBackground: "#ffffff",
    noteBkgColor: "#faf1dc",
    noteTextColor: "#1d2624",
    noteBorderColor: "#7a5200",
  },
  dark: {
    background: "#1a2426",
    primaryColor: "#193530",
    primaryTextColor: "#e4eae7",
    primaryBorderColor: "#7fcdb9",
    lineColor: "#9fada9",
    secondaryColor: "#202c2e",
    tertiaryColor: "#2b2413",
    edgeLabelBackground: "#1a2426",
    noteBkgColor: "#2b2413",
    noteTextColor: "#e4eae7",
    noteBorderColor: "#e2bd72",
  },
} as const;

const fontFamily = "ui-sans-serif, system-ui, sans-serif";
const maxSourceLength = 20_000;
let drawingCount = 0;

export async function drawDiagram(source: string, theme: "light" | "dark"): Promise<DiagramImage> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    theme: "base",
    darkMode: theme === "dark",
    themeVariables: { ...colours[theme], darkMode: theme === "dark", fontFamily, fontSize: "14px" },
    fontFamily,
    look: "classic",
    layout: "dagre",
    // An SVG in an `img` shows no HTML, so labels are SVG text.
    htmlLabels: false,
    maxTextSize: maxSourceLength,
    maxEdges: 300,
    // Settings that a diagram's own directives cannot override.
    secure: [
      "secure",
      "securityLevel",
      "startOnLoad",
      "maxTextSize",
      "maxEdges",
      "suppressErrorRendering",
      "htmlLabels",
      "flowchart",
      "fontFamily",
      "altFontFamily",
      "themeCSS",
      "dompurifyConfig",
      "theme",
      "themeVariables",
      "darkMode",
      "look",
      "layout",
    ],
  });
  const { svg: markup } = await mermaid.render(`drawing-${++drawingCount}`, source);
  const svg = new DOMParser().parseFromString(markup, "text/html").querySelector("svg");
  if (svg === null) throw new Error("There is nothing to draw.");
  const { width, height } = svg.viewBox.baseVal;
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  const title = [...svg.querySelectorAll(":scope > title, :scope > desc")]
    .map((element) => element.textContent.trim())
    .filter((text) => text !== "")
    .join(". ");
  return {
    svg: new XMLSerializer().serializeToString(svg),
    width,
    height,
    title: title.slice(0, 1_000),
  };
}

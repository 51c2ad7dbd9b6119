import DefaultTheme from 'vitepress/theme';
import './style.css';

// biome-ignore lint/style/noDefaultExport: VitePress requires it.
export default DefaultTheme;

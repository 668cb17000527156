import { mount } from 'svelte';
import App from './App.svelte';
import './styles/base.css';
import './styles/markdown.css';
import { actOnce } from './ui/held-key.ts';

actOnce(window);
const target = document.querySelector('#app');
if (target) mount(App, { target });
